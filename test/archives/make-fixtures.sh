#!/bin/sh
# Regenerates the fixtures with GNU tar, Info-ZIP and Python: sh make-fixtures.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)/fixtures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p a/b
echo hello > a/b/hello.txt
printf '#!/bin/sh\n' > a/b/run.sh
chmod 755 a/b/run.sh
: > a/empty
seq 400 > a/numbers.txt
ln -s b/hello.txt a/link
touch -h -d '2024-02-03 04:05:06 UTC' a/b/* a/* a
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner "$@" -cf - a; }
pack --format=pax > "$here/pax.tar"
rm -f "$here"/*.zip
zip -qrX "$here/deflated.zip" a
zip -qrX0 "$here/stored.zip" a
zip -qryX "$here/links.zip" a
zip -qrX - a | cat > "$here/streamed.zip"
zip -qX -P secret "$here/encrypted.zip" a/b/hello.txt
python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
    for name in ["a/b/hello.txt", "a/b/run.sh", "a/empty", "a/numbers.txt", "a/link"]:
        with z.open(name, "w", force_zip64=True) as out:
            out.write(open(name, "rb").read())
' "$here/zip64.zip"
truncate -s 64K hole
echo end >> hole
# More pieces than fit into the header, so a block continues it; and a hole at the end.
for i in $(seq 0 39); do printf piece | dd of=pieces bs=1 seek=$((i * 8192)) conv=notrunc status=none; done
truncate -s 384K pieces
sparse() { tar --sparse --owner=0 --group=0 --numeric-owner --mtime='2024-02-03 04:05:06 UTC' "$@" -cf - pieces hole; }
sparse --format=gnu | gzip -9n > "$here/sparse-gnu.tar.gz"
for version in 0.0 0.1 1.0; do sparse --format=pax --sparse-version=$version | gzip -9n > "$here/sparse-$version.tar.gz"; done
