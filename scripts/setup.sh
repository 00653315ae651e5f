#!/usr/bin/env bash
# Installs missing Debian packages: `setup.sh build`, `setup.sh test` (which adds packages for the tests) or
# `setup.sh arm64` (which adds the cross compiler, its libraries and the emulator). Runs as root or through
# sudo, asks nothing, and prints nothing if no package is missing.
set -euo pipefail

build_packages=(g++ cmake ninja-build pkg-config ccache
  libboost1.81-dev libfmt-dev libssl-dev libpcre2-dev libutf8proc-dev libxxhash-dev
  libsqlite3-dev libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc libtomlplusplus-dev libcli11-dev ca-certificates curl python3 python3-pip)
test_packages=(libgtest-dev librapidcheck-dev clang-format-19 clang-tidy-19 clang-19 libclang-rt-19-dev python3-venv openssl chromium fonts-dejavu-core prometheus etcd-server etcd-client systemd)
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static libfmt-dev:arm64 libssl-dev:arm64
  libpcre2-dev:arm64 libutf8proc-dev:arm64 libsqlite3-dev:arm64 libgrpc++-dev:arm64 libprotobuf-dev:arm64 libxxhash-dev:arm64 libgtest-dev:arm64 librapidcheck-dev:arm64)

packages=("${build_packages[@]}")
case "${1:-build}" in
  build) ;;
  test) packages+=("${test_packages[@]}") ;;
  arm64) packages+=("${test_packages[@]}" "${arm64_packages[@]}") ;;
  *) echo "setup: unknown set '$1': build, test or arm64" >&2; exit 2 ;;
esac

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n${db:Status-Status} ${Package}:${Architecture}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "setup: not root and no sudo; as root, run: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ "${1:-build}" = arm64 ] && "${as_root[@]}" dpkg --add-architecture arm64
if ! { "${as_root[@]}" apt-get update -q &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
       >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "setup: installing Debian packages failed; the lines above say why" >&2
  exit 1
fi
