import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** A minimal image with a shell, gzip, what the agent needs, and more programs on request, from this machine's files. */
export async function makeImage(image: string, lacks?: string, more: string[] = []): Promise<void> {
  const folders = ['bin', 'usr/bin', 'tmp', 'proc', 'dev', 'sys', 'etc', 'var/tmp', 'root', 'home'];
  for (const folder of folders) await mkdir(path.join(image, folder), { recursive: true });
  const usual = ['sh', 'gzip', 'mkdir', 'mv', 'chmod', 'cat', 'true'];
  const programs = [...usual, ...more].filter((name) => name !== lacks);
  const script = `
set -e
for name in ${programs.join(' ')}; do
  file=/usr/bin/$name; [ -x "$file" ] || file=/bin/$name
  for to in bin usr/bin; do cp -L "$file" "$1/$to/$name"; done
  ldd "$file" | sed -n 's/.*=> \\([^ ]*\\) .*/\\1/p; s/^[[:space:]]*\\(\\/[^ ]*\\) .*/\\1/p' >> "$1/.libraries"
done
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libgcc_s.so.1; do ldconfig -p | sed -n "s/.*$name .* => //p" | head -n 1 >> "$1/.libraries"; done
sort -u "$1/.libraries" | while read -r library; do mkdir -p "$1$(dirname "$library")"; cp -L "$library" "$1$library"; done
`;
  await promisify(execFile)('sh', ['-c', script, 'sh', image], {
    env: { ...process.env, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  await writeFile(path.join(image, 'etc/passwd'), 'researcher:x:1000:1000::/tmp:/bin/sh\n');
  await writeFile(path.join(image, 'etc/group'), 'researcher:x:1000:\n');
  await writeFile(path.join(image, 'made-by-test'), 'image\n');
}
