import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRegistry } from '@portcullis/control/http/server/metrics.ts';
import { createLogger } from '@portcullis/control/log.ts';
import { createMail } from '@portcullis/control/mail/index.ts';
import { startSmtpServer } from '@portcullis/control/mail/testing/smtp-server.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const VICTIM = 'victim@example.org';
const BREAKS = ['\r\n', '\n', '\r', '\u2028', '\u0085', '\0'];
const INJECTED = `Bcc: ${VICTIM}`;

test('a text of a tenant in a mail makes no header and no recipient', async (t) => {
  const server = await startSmtpServer(t);
  const log = createLogger({ level: 'silent' });
  const config = { url: server.url, from: 'portcullis@example.net' };
  const mail = createMail({ config, log, registry: createRegistry(), retryMs: [] });
  const messages = [
    ...BREAKS.map((end) => ({
      to: 'ada@example.net',
      subject: `Invitation to Acme${end}${INJECTED}${end}${end}body`,
    })),
    ...BREAKS.map((end) => ({ to: `ada@example.net${end}${INJECTED}`, subject: 'Invitation' })),
    { to: `ada@example.net, ${VICTIM}`, subject: 'Invitation' },
    { to: `ada@example.net> RCPT TO:<${VICTIM}`, subject: 'Invitation' },
    { to: `"Ada" <ada@example.net>, <${VICTIM}>`, subject: 'Invitation' },
  ];
  for (const message of messages) mail.send({ ...message, text: `${INJECTED}\r\n.\r\n` });
  await server.got(BREAKS.length);
  await mail.stop();
  for (const { to, text } of server.received) {
    assert.ok(to.length === 1 && to[0] !== VICTIM, to.join());
    const [head = ''] = text.split(/\r?\n\r?\n/, 1);
    // A line of SMTP ends by LF, or by a lone CR for some servers; `^` has further ends.
    const names = head.split(/\r\n|\n|\r/).map((line) => line.split(':', 1)[0]?.toLowerCase());
    assert.ok(!names.includes('bcc'), head);
    assert.equal(names.filter((name) => name === 'to').length, 1, head);
  }
});

test('an invitation goes to one address, and to nothing that is none', async (t) => {
  const { session } = await startEnvironment(t);
  const invite = (email: string) =>
    session('owner').post('/api/portal/organisations/acme/invitations', { email, role: 'member' });
  for (const email of [
    ...BREAKS.map((end) => `ada@example.net${end}${INJECTED}`),
    `ada@example.net,${VICTIM}`,
    `ada@example.net;${VICTIM}`,
    `Ada <ada@example.net>`,
    `ada@example.net> RCPT TO:<${VICTIM}`,
  ])
    assert.equal((await invite(email)).status, 422, JSON.stringify(email));
  assert.ok((await invite('ada@example.net')).status < 300);
});
