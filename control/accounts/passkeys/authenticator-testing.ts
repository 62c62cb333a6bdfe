import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

interface Options {
  readonly challenge: string;
}

/** For tests: an authenticator with one ES256 passkey, which verifies its user. */
export class SoftwareAuthenticator {
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =
    generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #id = randomBytes(16);
  readonly #origin: string;
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** The answer of `startRegistration` in a browser. */
  register({ challenge }: Options): Record<string, unknown> {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    // COSE: EC2, ES256, P-256 (RFC 9053, 2.1 and 7.1).
    const key = new Map<number, number | Uint8Array<ArrayBuffer>>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
      [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.#id.length);
    const credential = [Buffer.alloc(16), length, this.#id, isoCBOR.encode(key)];
    const authData = Buffer.concat([this.#head(0x45), ...credential]);
    const attestation = new Map<string, string | Map<string, never> | Uint8Array<ArrayBuffer>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', new Uint8Array(authData)],
    ]);
    return this.#answer('webauthn.create', challenge, () => ({
      attestationObject: encode(isoCBOR.encode(attestation)),
      transports: ['internal'],
    }));
  }

  /** The answer of `startAuthentication` in a browser. `isVerified` false: without PIN or fingerprint. */
  authenticate({ challenge }: Options, isVerified = true): Record<string, unknown> {
    this.#counter++;
    const authData = this.#head(isVerified ? 0x05 : 0x01);
    return this.#answer('webauthn.get', challenge, (clientData) => ({
      authenticatorData: encode(authData),
      signature: encode(
        sign('sha256', Buffer.concat([authData, digest(clientData)]), this.#keys.privateKey),
      ),
    }));
  }

  #head(flags: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#counter);
    const rpId = digest(Buffer.from(new URL(this.#origin).hostname));
    return Buffer.concat([rpId, Buffer.from([flags]), counter]);
  }

  #answer(
    type: string,
    challenge: string,
    respond: (clientData: Buffer) => object,
  ): Record<string, unknown> {
    const clientData = Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin }));
    const id = encode(this.#id);
    return {
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON: encode(clientData), ...respond(clientData) },
    };
  }
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
