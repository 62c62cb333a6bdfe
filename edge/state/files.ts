import { writeSync } from 'node:fs';

/** Answers how many bytes it took. A disk that fills up takes a part and refuses the rest in the next call. */
export function writeAt(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
  return bytes.length;
}
