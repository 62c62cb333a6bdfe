import type { Egg, EggImage } from './egg.ts';

/** Why Docker does not answer: no socket, no daemon behind it, no right to use it, or anything else. */
export type DockerLack = 'absent' | 'stopped' | 'forbidden' | 'silent';

export interface DockerStatus {
  /** Null: it does not answer. */
  readonly version: string | null;
  /** Null: it answers. */
  readonly lack: DockerLack | null;
}

/** An image that Portcullis makes on a host, and how far that is. */
export interface LocalImage {
  /** The name as `portcullis images` takes it. */
  readonly name: string;
  readonly reference: string;
  /** `unknown`: Docker does not answer. */
  readonly state: 'unknown' | 'missing' | 'building' | 'ready' | 'failed';
  /** The step that is being done; null unless it is being built. */
  readonly step: string | null;
  /** Percent of the work; null unless it is being built. */
  readonly percent: number | null;
  /** Why the last build failed. */
  readonly problem: string | null;
}

/** The engines of a host, and what they have. */
export interface HostEngines {
  /** Null: the host is configured without Docker. */
  readonly docker: DockerStatus | null;
  /** References of local images that are programs of Portcullis, which the process engine runs. */
  readonly programs: readonly string[];
  readonly images: readonly LocalImage[];
}

/** The engine for an image. A program of Portcullis needs no container; everything else is isolated in one. */
export function engineOf(reference: string, programs: readonly string[]): 'process' | 'docker' {
  return programs.includes(reference) ? 'process' : 'docker';
}

/** The image of a server: that of the label, else the first of the egg. */
export function imageOf(egg: Pick<Egg, 'images'>, label: string | null): EggImage | null {
  return egg.images.find((image) => image.label === label) ?? egg.images[0] ?? null;
}

/** Whether a host can run an image, and otherwise what to do there. */
export type Runnable =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** A sentence. */
      readonly reason: string;
      /** Commands for a shell of the host, in order. */
      readonly commands: readonly string[];
      /** The image that has to be made first; null: making one does not help. */
      readonly image: string | null;
    };

export function evaluateImage(
  { reference, local }: Pick<EggImage, 'reference' | 'local'>,
  { docker, programs, images }: HostEngines,
): Runnable {
  if (engineOf(reference, programs) === 'process') return { ok: true };
  if (docker === null) return refuse(WITHOUT_DOCKER);
  if (docker.version === null) return refuse(LACKS[docker.lack ?? 'silent']);
  if (!local) return { ok: true };
  const image = images.find((one) => one.reference === reference);
  if (image === undefined) return refuse(unknownImage(reference));
  return image.state === 'ready' ? { ok: true } : refuse(unmade(image));
}

interface Refusal {
  readonly reason: string;
  readonly commands?: readonly string[];
  readonly image?: string;
}

function refuse({ reason, commands = [], image }: Refusal): Runnable {
  return { ok: false, reason, commands, image: image ?? null };
}

const WITHOUT_DOCKER: Refusal = {
  reason:
    'It runs in Docker, and this host was started without: start it again with --engine both.',
};

const LACKS: Readonly<Record<DockerLack, Refusal>> = {
  absent: {
    reason:
      'It runs in Docker, which is not installed on this host. Once it is, it is found by itself.',
    commands: ['sudo apt-get update', 'sudo apt-get install -y docker.io'],
  },
  stopped: {
    reason: 'It runs in Docker, which is installed on this host and does not run.',
    commands: ['sudo systemctl enable --now docker'],
  },
  forbidden: {
    reason:
      'It runs in Docker, which the account of Portcullis may not use here. Log in again after this, and start Portcullis again.',
    commands: ['sudo usermod -aG docker "$USER"'],
  },
  silent: {
    reason: 'It runs in Docker, which does not answer on this host.',
    commands: ['sudo systemctl restart docker'],
  },
};

function unknownImage(reference: string): Refusal {
  return {
    reason: `Its image ${reference} is local: it is never pulled, and Portcullis has no recipe for it. Build or load it on the host under this name.`,
    commands: [`docker image inspect ${reference}`],
  };
}

function unmade({ name, reference, state, step, problem }: LocalImage): Refusal {
  const commands = [`portcullis images ${name}`];
  switch (state) {
    case 'building':
      return { reason: `Its image is being made: ${step ?? 'just begun'}.`, image: name };
    case 'failed':
      return {
        reason: `Its image could not be made: ${(problem ?? 'no reason was given').replace(/\.$/, '')}.`,
        commands,
        image: name,
      };
    case 'missing':
    case 'ready':
    case 'unknown':
    default:
      return {
        reason: `Its image ${reference} is made on the host, once, in about a minute. It is not made yet.`,
        commands,
        image: name,
      };
  }
}
