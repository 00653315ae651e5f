#!/usr/bin/env bash
# Prints the root of a CUDA 13 toolkit: the system's if it has one, otherwise one assembled from PyPI's
# packages in the user's cache (x86_64, about 1.2 GB, once for all checkouts).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cache.sh
if [ -z "${KVASIR_LOCKED:-}" ]; then KVASIR_LOCKED=1 locked cuda-toolkit "scripts/$(basename "$0")"; exit; fi

packages=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85 nvidia-cublas==13.1.0.3)

is_toolkit() {
  [ -x "$1/bin/nvcc" ] && [ -e "$1/include/cublasLt.h" ] && "$1/bin/nvcc" --version | grep -q 'release 13\.'
}

nvcc=$(command -v nvcc || true)
for root in ${CUDA_HOME:+"$CUDA_HOME"} ${nvcc:+"$(dirname "$(dirname "$(readlink -f "$nvcc")")")"} /usr/local/cuda; do
  if is_toolkit "$root"; then echo "$root"; exit 0; fi
done

folder=$cache/cuda-toolkit
root=$folder/nvidia/cu13
stamp=$folder/${packages[*]##*==}.done
if [ ! -e "$stamp" ]; then
  [ "$(uname -m)" = x86_64 ] || { echo "cuda: no CUDA 13 here; set CUDA_HOME to one" >&2; exit 1; }
  echo "cuda: no CUDA 13 on this machine; fetching its compiler from PyPI (1.2 GB, once)" >&2
  rm -rf "$folder"
  pip() { python3 -m pip --disable-pip-version-check "$@"; }
  show=(--quiet)
  [ -t 2 ] && show=(--progress-bar on)
  number=0
  for package in "${packages[@]}"; do
    echo "cuda: $((++number)) of ${#packages[@]}, $package" >&2
    pip download "${show[@]}" --no-deps --dest "$folder/wheels" "$package" >&2
  done
  pip install --quiet --root-user-action=ignore --no-index --no-deps --target "$folder" "$folder"/wheels/*.whl >&2  # all at once: they share a folder
  rm -rf "$folder/wheels"
  is_toolkit "$root" || { echo "cuda: the packages hold no compiler at $root" >&2; exit 1; }
  touch "$stamp"
fi
echo "$root"
