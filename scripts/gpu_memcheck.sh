#!/usr/bin/env bash
# Runs the small tests of gpu_test under compute-sanitizer's memcheck: `gpu_memcheck.sh PROGRAM`.
set -euo pipefail
set -f  # the patterns name tests, not files
tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -z "$tool" ]; then
  echo "memcheck: no compute-sanitizer on this machine" >&2
  exit 0
fi
tests=(WideProduct.* Ends/WideProducts.ARow* Ends/SkinnyProducts.ARow* Gemv.Mult* CudaMixture.* CudaSample.Adjusts* CudaSample.What* Int4.*
  Shapes/Attention.IsThat*/0 Shapes/Attention.IsThat*/4 Shapes/Attention.OfLongSlices/0
  Shapes/Attention.OfEightBits*/0 Shapes/Attention.OfEightBits*/1 Shapes/Attention.OfEightBits*/4
  Cuda/HeadDims.ABatchHasTheBits*/1 Cuda/HeadDims.Fp8IsNear*/1
  Cuda/LoneRow.*/odd_sizes Cuda/LoneRow.*/biases Cuda/LoneRow.*/uneven_pieces)
exec "$tool" --tool memcheck --error-exitcode 9 "$1" --gtest_filter="$(IFS=:; echo "${tests[*]}")"
