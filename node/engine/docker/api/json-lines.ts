/** Of one line; Docker's longest are a few kilobytes. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Values of a stream of JSON, one a line. Throws on a line that has no end or is no JSON. */
export async function* readJsonLines(stream: AsyncIterable<Buffer>): AsyncGenerator {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    let begin = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      const line = Buffer.concat([...waiting, chunk.subarray(begin, end)]).toString();
      waiting = [];
      bytes = 0;
      begin = end + 1;
      if (line.trim() !== '') yield JSON.parse(line);
    }
    waiting.push(chunk.subarray(begin));
    bytes += chunk.length - begin;
    if (bytes > MAX_LINE_BYTES) throw new RangeError('a line of JSON without an end');
  }
  const last = Buffer.concat(waiting).toString();
  if (last.trim() !== '') yield JSON.parse(last);
}
