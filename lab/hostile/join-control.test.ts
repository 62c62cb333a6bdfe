import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { postToControl } from '@portcullis/cli/agents/pinned-request.ts';
import {
  createAuthority,
  issueCertificate,
  type KeyAndCertificate,
} from '@portcullis/control/certificates.ts';
import { TEST_CERTIFICATE } from '@portcullis/control/testing/certificate.ts';

const YEARS_MS = 8 * 365 * 86_400_000;
const TOKEN = 'pcj_secret';

test('a host sends its token to control alone: of the authority in the token, for this name, valid now', async (t) => {
  const authority = await createAuthority();
  const other = await createAuthority();
  const issue = (name: string, atMs = Date.now()) =>
    issueCertificate(authority, [name], new Date(atMs));
  const pinned = new X509Certificate(authority.cert);
  const leaf = await issue('127.0.0.1');
  const impostors: Readonly<Record<string, KeyAndCertificate>> = {
    'of another authority': chain(await issueCertificate(other, ['127.0.0.1']), other),
    // It has the right certificate in its chain, as everybody may: it is public.
    'of another authority, with that of ours': chain(
      await issueCertificate(other, ['127.0.0.1']),
      authority,
    ),
    // Its issuer and the identifier of the issuer's key are those of ours, and the signature is not.
    'in the name of ours': chain(
      await issueCertificate({ key: other.key, cert: authority.cert }, ['127.0.0.1']),
      authority,
    ),
    'of a chain through its own certificate': chain(await issueCertificate(leaf, ['127.0.0.1']), {
      key: '',
      cert: `${leaf.cert}\n${authority.cert}`,
    }),
    'signed by itself': TEST_CERTIFICATE,
    'for another address': chain(await issue('127.0.0.2'), authority),
    'for a name': chain(await issue('control.example'), authority),
    expired: chain(await issue('127.0.0.1', Date.now() - YEARS_MS), authority),
    'not valid yet': chain(await issue('127.0.0.1', Date.now() + YEARS_MS), authority),
  };
  const fingerprint = pinned.fingerprint256.replaceAll(':', '').toLowerCase();
  for (const [what, certificate] of Object.entries(impostors)) {
    const { url, received } = await serve(t, certificate);
    const sent = postToControl({ url, fingerprint }, '/agents/join', { token: TOKEN });
    await assert.rejects(sent, /cannot be used at/, what);
    assert.equal(received(), '', what);
  }
  const { url, received } = await serve(t, chain(leaf, authority));
  await postToControl({ url, fingerprint }, '/agents/join', { token: TOKEN });
  assert.ok(received().includes(TOKEN));
});

function chain(leaf: KeyAndCertificate, above: KeyAndCertificate): KeyAndCertificate {
  return { key: leaf.key, cert: `${leaf.cert}\n${above.cert}` };
}

/** Something at the address of control, which takes everything. */
async function serve(t: TestContext, { key, cert }: KeyAndCertificate) {
  let body = '';
  const server: Server = createServer({ key, cert }, (request, response) => {
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => response.end('{"data":{}}'));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`https://127.0.0.1:${port}`), received: () => body };
}
