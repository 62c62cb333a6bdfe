import { buffer } from 'node:stream/consumers';
import { type Headers, pack } from 'tar-stream';
import yazl from 'yazl';

export type TarEntry = readonly [header: Headers, content?: string];

export async function tarOf(...entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const [header, content] of entries) tar.entry(header, content ?? '');
  tar.finalize();
  return buffer(tar);
}

export type ZipEntry = readonly [name: string, content: string | Buffer, mode?: number];

export async function zipOf(...entries: readonly ZipEntry[]): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, content, mode] of entries)
    zip.addBuffer(Buffer.from(content as string), name, mode === undefined ? {} : { mode });
  zip.end();
  return buffer(zip.outputStream);
}
