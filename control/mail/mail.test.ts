import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Registry } from 'prom-client';
import { createLogger } from '../log.ts';
import { createMail } from './index.ts';
import { startSmtpServer } from './testing/smtp-server.ts';

const MESSAGE = { to: 'ada@example.net', subject: 'Größe\u2028', text: 'a=b\nzweite Zeile\n' };

function mailTo(t: TestContext, url: string, retryMs: readonly number[] = []) {
  const registry = new Registry();
  const config = { url, from: 'portcullis@example.net' };
  let logged = '';
  const log = createLogger({
    level: 'warn',
    destination: { write: (line) => void (logged += line) },
  });
  const mail = createMail({ config, log, registry, retryMs });
  t.after(() => mail.stop());
  return { mail, registry, logged: () => logged };
}

test('sends a mail to one recipient, from the configured address', async (t) => {
  const server = await startSmtpServer(t);
  const { mail } = mailTo(t, server.url);
  mail.send(MESSAGE);
  mail.send({ ...MESSAGE, to: 'a@example.net,b@example.net' });
  const [first] = await server.got(1);
  assert.deepEqual([first?.from, first?.to], ['portcullis@example.net', ['ada@example.net']]);
  assert.match(first?.text ?? '', /\n\na=b\nzweite Zeile/);
  assert.match(first?.text ?? '', /^Subject: =\?UTF-8\?/m);
  await mail.stop();
  assert.ok(server.received.every(({ to }) => to.length === 1));
});

test('tries again when the server does not take a mail, and gives up with a log line', async (t) => {
  const server = await startSmtpServer(t, 1);
  const { mail } = mailTo(t, server.url, [10, 10]);
  mail.send(MESSAGE);
  await server.got(1);
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const nobody = mailTo(t, `smtp://127.0.0.1:${port}`);
  nobody.mail.send(MESSAGE);
  await nobody.mail.stop();
  assert.match(nobody.logged(), /a mail was not taken/);
  assert.match(await nobody.registry.metrics(), /portcullis_mails_total\{result="failed"\} 1/);
});

test('sends no password over a connection that is not encrypted', async (t) => {
  const server = await startSmtpServer(t);
  const { mail, logged } = mailTo(t, server.url.replace('//', '//ada:hunter2@'));
  mail.send(MESSAGE);
  await mail.stop();
  assert.equal(server.received.length, 0);
  assert.match(logged(), /a mail was not taken/);
  assert.ok(!logged().includes('hunter2'));
});

test('lets a person send thirty mails an hour', async (t) => {
  const { mail } = mailTo(t, 'smtp://127.0.0.1:1');
  const allowed = Array.from({ length: 40 }, () => mail.allows('ada@example.net', null));
  assert.equal(allowed.filter(Boolean).length, 30);
  assert.ok(mail.allows('bob@example.net', 7));
});

test('lets an organisation send a hundred mails an hour, however many senders it makes', async (t) => {
  const { mail } = mailTo(t, 'smtp://127.0.0.1:1');
  const allowed = Array.from({ length: 300 }, (_, at) => mail.allows(`${at}@example.net`, 7));
  assert.equal(allowed.filter(Boolean).length, 100);
  assert.ok(mail.allows('300@example.net', 8));
});
