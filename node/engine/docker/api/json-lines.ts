/** Limit of one line; Docker's longest are a few kilobytes. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Yields the values of a stream of JSON lines. Throws on a line that is too long or not JSON. */
export async function* readJsonLines(stream: AsyncIterable<Buffer>): AsyncGenerator {
  let pending: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    let begin = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      const line = Buffer.concat([...pending, chunk.subarray(begin, end)]).toString();
      pending = [];
      bytes = 0;
      begin = end + 1;
      if (line.trim() !== '') yield JSON.parse(line);
    }
    pending.push(chunk.subarray(begin));
    bytes += chunk.length - begin;
    if (bytes > MAX_LINE_BYTES) throw new RangeError('a line of JSON is too long');
  }
  const last = Buffer.concat(pending).toString();
  if (last.trim() !== '') yield JSON.parse(last);
}
