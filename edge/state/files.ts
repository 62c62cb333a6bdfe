import { writeSync } from 'node:fs';

/** Returns the number of bytes written. A full disk may write a part, and fail the next call. */
export function writeAt(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
  return bytes.length;
}
