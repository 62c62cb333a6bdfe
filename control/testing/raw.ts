import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends raw bytes and reads until the server closes or `until` appears. */
export async function sendRaw(
  url: string,
  sent: string | Uint8Array,
  until: RegExp | null = null,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += String(chunk);
    if (until?.test(answer) === true) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(sent);
  await once(socket, 'close');
  return answer;
}
