#!/usr/bin/env python3
"""Writes the files of web/dist as a C++ source: `embed_web.py DIST OUT.cc`. Each is there plain and gzipped."""
import gzip
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
ESCAPES = {byte: f"\\{byte:03o}" for byte in range(256)}
ESCAPES.update({byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\?'})


def literal(data):
    """A string literal, in lines that compilers like."""
    lines = [data[at:at + 2048] for at in range(0, len(data), 2048)] or [b""]
    return "\n".join('    "' + "".join(ESCAPES[byte] for byte in line) + '"' for line in lines)


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rows = []
    for path in sorted(folder.iterdir()):
        plain = path.read_bytes()
        zipped = gzip.compress(plain, 9, mtime=0)
        etag = hashlib.sha256(plain).hexdigest()[:20]
        rows.append(f'  {{"{path.name}", "{TYPES[path.suffix]}", "\\"{etag}\\"",\n   std::string_view(\n{literal(plain)}, {len(plain)}),\n'
                    f'   std::string_view(\n{literal(zipped)}, {len(zipped)})}},\n')
    out.write_text('#include "api/web/web_assets.h"\n\nnamespace kvasir::api {\n\nnamespace {\n\nconstexpr WebAsset kWebAssets[] = {\n'
                   + "".join(rows) + "};\n\n}  // namespace\n\nstd::span<const WebAsset> web_assets() {\n  return kWebAssets;\n}\n\n"
                   "}  // namespace kvasir::api\n")


if __name__ == "__main__":
    main()
