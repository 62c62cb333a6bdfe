import { EngineError } from '../../engine.ts';

/** Docker refused a call. `message` is Docker's own. */
export class DockerRefusal extends Error {
  override readonly name = 'DockerRefusal';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const PORT_TAKEN = /address already in use|port is already allocated/i;
const ADDRESS_MISSING = /cannot assign requested address/i;
/** `listen tcp4 192.0.2.1:80: bind:`, `listen udp [2001:db8::1]:80`, `Bind for 192.0.2.1:80 failed`. */
const BOUND =
  /(?:listen (?<protocol>tcp|udp)[46]?|[Bb]ind for) (?<ip>\[[^\]]{1,45}\]|[\d.]{7,15}):(?<port>\d{1,5})/;
const NO_SUBNET = /non-overlapping IPv[46] address pool/i;
/** The most that is shown of an unknown message. */
const SHOWN = 500;

/** Whether Docker refused because the network does not exist: Docker 20 checks at start, newer versions at create too. */
export function isMissingNetwork(error: unknown, name: string): boolean {
  return (
    error instanceof DockerRefusal &&
    error.status === 404 &&
    error.message.includes(`network ${name} not found`)
  );
}

/** Translates a refusal of Docker into an `EngineError` for operators; returns null for any other error. */
export function describeRefusal(error: unknown): EngineError | null {
  if (!(error instanceof DockerRefusal)) return null;
  const { message, status } = error;
  const { ip = 'an address', port = '?', protocol = '' } = BOUND.exec(message)?.groups ?? {};
  const refusal = (code: EngineError['code'], text: string): EngineError =>
    new EngineError(code, text, { cause: error });
  if (PORT_TAKEN.test(message))
    return refusal(
      'port_taken',
      `Port ${port}${protocol && `/${protocol}`} of ${ip} is in use by something else on this node.`,
    );
  if (ADDRESS_MISSING.test(message))
    return refusal('address_missing', `This node does not have the address ${ip}.`);
  if (NO_SUBNET.test(message))
    return refusal(
      'refused',
      'Docker has no subnet left for another network: give it more in default-address-pools.',
    );
  const code = status === 404 ? 'not_found' : 'refused';
  return refusal(code, `Docker refused: ${message.slice(0, SHOWN)}`);
}

/** Runs the work and turns Docker's refusals into `EngineError`. */
export async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw describeRefusal(error) ?? error;
  }
}
