import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const DAY_MS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** PEM texts. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A self-signed certificate, served until a certificate authority has issued one. */
export async function createSelfSigned(
  domain: string,
  now = new Date(),
): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${domain}`,
      ...validity(now, 365),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: domain }]),
        new x509.BasicConstraintsExtension(false, undefined, true),
      ],
    },
    webcrypto,
  );
  return toPem(keys.privateKey, certificate);
}

/** An authority for certificates of this installation alone, valid for 20 years. */
export async function createAuthority(now = new Date()): Promise<KeyAndCertificate> {
  const keys = await generateKeys();
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Portcullis',
      serialNumber: randomBytes(16).toString('hex'),
      ...validity(now, 20 * 365),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(usages, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return toPem(keys.privateKey, certificate);
}

/** A certificate of the authority for a server with these names or addresses, valid for five years. */
export async function issueCertificate(
  authority: KeyAndCertificate,
  names: readonly [string, ...string[]],
  now = new Date(),
): Promise<KeyAndCertificate> {
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decode(authority.key)[0] ?? new ArrayBuffer(0),
    ALGORITHM,
    false,
    ['sign'],
  );
  const keys = await generateKeys();
  const alternatives = names.map((value) => ({
    type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const),
    value,
  }));
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${names[0]}`,
      issuer: issuer.subject,
      serialNumber: randomBytes(16).toString('hex'),
      ...validity(now, 5 * 365),
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.SubjectAlternativeNameExtension(alternatives),
        // Servers of a cluster are clients of one another.
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        await x509.AuthorityKeyIdentifierExtension.create(issuer, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return toPem(keys.privateKey, certificate);
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** From an hour ago, because clocks differ. */
function validity(now: Date, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return {
    notBefore: new Date(now.getTime() - DAY_MS / 24),
    notAfter: new Date(now.getTime() + days * DAY_MS),
  };
}

async function toPem(
  key: webcrypto.CryptoKey,
  certificate: x509.X509Certificate,
): Promise<KeyAndCertificate> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', key);
  return {
    key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    cert: certificate.toString('pem'),
  };
}
