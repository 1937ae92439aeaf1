import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** For `apptainer build`: compressing an image of a few megabytes takes a second. */
export const uncompressed = ['--mksquashfs-args', '-noI -noD -noF -noX'];

/** What the agent needs besides these programs. */
const usual = ['sh', 'gzip', 'mkdir', 'mv', 'chmod', 'cat', 'true'];
const libraries = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'libgcc_s.so.1'];

/** A minimal image with a shell, gzip, what the agent needs, and more programs, by name or path, from this machine's files. */
export const makeImage = (image: string, lacks?: string, more: string[] = []): Promise<void> =>
  fillImage(
    image,
    [...usual, ...more].filter((name) => name !== lacks),
    libraries,
  );

/** An image for commands of a shell, about half as large. */
export const makeTinyImage = (image: string): Promise<void> => fillImage(image, ['sh', 'cat'], []);

async function fillImage(image: string, programs: string[], more: string[]): Promise<void> {
  const folders = ['bin', 'usr/bin', 'tmp', 'proc', 'dev', 'sys', 'etc', 'var/tmp', 'root', 'home'];
  for (const folder of folders) await mkdir(path.join(image, folder), { recursive: true });
  const script = `
set -e
for name in ${programs.join(' ')}; do
  file=/usr/bin/$name; [ -x "$file" ] || file=/bin/$name
  case $name in /*) file=$name; name=\${name##*/};; esac
  cp -L "$file" "$1/bin/$name"
  ln "$1/bin/$name" "$1/usr/bin/$name"
  ldd "$file" | sed -n 's/.*=> \\([^ ]*\\) .*/\\1/p; s/^[[:space:]]*\\(\\/[^ ]*\\) .*/\\1/p' >> "$1/.libraries"
done
for name in ${more.join(' ')}; do ldconfig -p | sed -n "s/.*$name .* => //p" | head -n 1 >> "$1/.libraries"; done
sort -u "$1/.libraries" | while read -r library; do mkdir -p "$1$(dirname "$library")"; cp -L "$library" "$1$library"; done
`;
  await promisify(execFile)('sh', ['-c', script, 'sh', image], {
    env: { ...process.env, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  await writeFile(path.join(image, 'etc/passwd'), 'researcher:x:1000:1000::/tmp:/bin/sh\n');
  await writeFile(path.join(image, 'etc/group'), 'researcher:x:1000:\n');
  await writeFile(path.join(image, 'made-by-test'), 'image\n');
}
