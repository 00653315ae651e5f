#!/usr/bin/env bash
# Prints the root of a CUDA 13 toolkit: the system's where it has one, else one put together from PyPI's packages
# under build/cuda-toolkit (x86_64, about 1.2 GB, once).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85 nvidia-cublas==13.1.0.3)

is_toolkit() {
  [ -x "$1/bin/nvcc" ] && [ -e "$1/include/cublasLt.h" ] && "$1/bin/nvcc" --version | grep -q 'release 13\.'
}

nvcc=$(command -v nvcc || true)
for root in ${CUDA_HOME:+"$CUDA_HOME"} ${nvcc:+"$(dirname "$(dirname "$(readlink -f "$nvcc")")")"} /usr/local/cuda; do
  if is_toolkit "$root"; then echo "$root"; exit 0; fi
done

folder=$PWD/build/cuda-toolkit
root=$folder/nvidia/cu13
stamp=$folder/${packages[*]##*==}.done
if [ ! -e "$stamp" ]; then
  [ "$(uname -m)" = x86_64 ] || { echo "cuda: no CUDA 13 here; set CUDA_HOME to one" >&2; exit 1; }
  echo "cuda: no CUDA 13 on this machine; fetching its compiler from PyPI" >&2
  rm -rf "$folder"
  log=$(mktemp)
  python3 -m pip install --quiet --no-deps --target "$folder" "${packages[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
  is_toolkit "$root" || { echo "cuda: the packages hold no compiler at $root" >&2; exit 1; }
  touch "$stamp"
fi
echo "$root"
