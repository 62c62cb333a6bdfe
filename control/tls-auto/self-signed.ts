import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const YEAR_MS = 31_536_000_000;

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
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${domain}`,
      notBefore: new Date(now.getTime() - 3_600_000),
      notAfter: new Date(now.getTime() + YEAR_MS),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: domain }]),
        new x509.BasicConstraintsExtension(false, undefined, true),
      ],
    },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    cert: certificate.toString('pem'),
  };
}
