import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text as sent, with soft line breaks of quoted-printable joined. */
  readonly text: string;
}

export interface SmtpServer {
  readonly url: string;
  readonly received: readonly ReceivedMail[];
  got(count: number): Promise<readonly ReceivedMail[]>;
}

/** A mail server on loopback that takes everything, after refusing the first `failures` senders for a time. */
export async function startSmtpServer(
  t: { after(stop: () => Promise<void>): void },
  failures = 0,
): Promise<SmtpServer> {
  const received: ReceivedMail[] = [];
  const waiting = new Set<() => void>();
  let left = failures;
  const server = createServer((socket) =>
    serve(socket, {
      isBusy: () => left-- > 0,
      receive(mail) {
        received.push(mail);
        for (const done of waiting) done();
      },
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => server.close(() => resolve())));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    got: (count) =>
      new Promise((resolve) => {
        const done = (): void => {
          if (received.length < count) return;
          waiting.delete(done);
          resolve(received);
        };
        waiting.add(done);
        done();
      }),
  };
}

interface Mailbox {
  /** Called for each sender. */
  isBusy(): boolean;
  receive(mail: ReceivedMail): void;
}

/** One connection: https://www.rfc-editor.org/rfc/rfc5321#section-4.1, without extensions. */
function serve(socket: Socket, { isBusy, receive }: Mailbox): void {
  let mail = { from: '', to: [] as string[] };
  let data: string[] | null = null;
  const answer = (line: string): string => {
    if (data !== null) {
      if (line !== '.') {
        data.push(line);
        return '';
      }
      const text = data.join('\n').replaceAll('=\n', '').replaceAll('=3D', '=');
      data = null;
      receive({ ...mail, text });
      return '250 taken';
    }
    const [verb = ''] = line.toUpperCase().split(/[ :]/);
    if (verb === 'EHLO') return '250 test';
    if (verb === 'MAIL') {
      mail = { from: between(line), to: [] };
      return isBusy() ? '451 later' : '250 ok';
    }
    if (verb === 'RCPT') {
      mail.to.push(between(line));
      return '250 ok';
    }
    if (verb === 'DATA') {
      data = [];
      return '354 go on';
    }
    return verb === 'QUIT' ? '221 bye' : '502 not known';
  };
  let buffered = '';
  socket.on('data', (chunk) => {
    const lines = (buffered + chunk.toString()).split('\r\n');
    buffered = lines.pop() ?? '';
    for (const reply of lines.map(answer)) if (reply !== '') socket.write(`${reply}\r\n`);
  });
  socket.on('error', () => {});
  socket.write('220 test\r\n');
}

function between(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}
