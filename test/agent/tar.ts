import { gzipSync } from 'node:zlib';

/** A gzipped tar archive of the files. */
export function makeTarGz(files: Record<string, string | Buffer>): Buffer {
  const parts = Object.entries(files).flatMap(([name, content]) => {
    const body = Buffer.from(content);
    return [header(name, body.length), body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]), { level: 1 });
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        0', 148);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
