import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { LocalImage } from '@portcullis/core/game-servers/host-engines.ts';
import type { Log } from '@portcullis/core/log.ts';
import { provideImages } from './provide.ts';
import { RECIPES, referenceOf } from './recipes.ts';

export interface LocalImagesOptions {
  /** The socket of Docker. */
  readonly socketPath: string;
  readonly log: Log;
  /** Makes one image and gives it to Docker; default: the real one. */
  readonly provide?: typeof provideImages;
}

type Progress = Pick<LocalImage, 'state' | 'step' | 'percent' | 'problem'>;

const LIST_MS = 2_000;
/** The length of what a program wrote: its end says why it failed. */
const PROBLEM_LENGTH = 500;

/** The images of the shipped eggs on this host: which Docker has, and the one that is being made. */
export class LocalImages {
  readonly #options: LocalImagesOptions;
  /** Null: Docker did not answer. */
  #present: ReadonlySet<string> | null = null;
  readonly #builds = new Map<string, Progress>();
  #queue: Promise<void> = Promise.resolve();
  onChange: () => void = () => {};

  constructor(options: LocalImagesOptions) {
    this.#options = options;
  }

  /** Asks Docker which of them it has. Never rejects. */
  async refresh(): Promise<void> {
    this.#present = await listReferences(this.#options.socketPath).catch(() => null);
  }

  list(): LocalImage[] {
    return RECIPES.map((recipe) => {
      const reference = referenceOf(recipe);
      return { name: recipe.name, reference, ...this.#progressOf(recipe.name, reference) };
    });
  }

  /** Begins to make an image, one after another; no-op for one that is being made. Returns why it cannot, or null. */
  begin(name: string): string | null {
    if (!RECIPES.some((recipe) => recipe.name === name)) return `There is no image ${name}.`;
    if (this.#builds.get(name)?.state === 'building') return null;
    this.#set(name, building('Waiting for another one that is being made', 0));
    this.#queue = this.#queue.then(() => this.#build(name));
    return null;
  }

  async #build(name: string): Promise<void> {
    const { socketPath, log, provide = provideImages } = this.#options;
    const startMs = performance.now();
    try {
      await provide(socketPath, {
        names: [name],
        progress: (step, percent) => this.#set(name, building(step, percent)),
      });
      await this.refresh();
      this.#builds.delete(name);
      const seconds = Math.round((performance.now() - startMs) / 1_000);
      log.info({ image: name, seconds }, 'an image was made');
      this.onChange();
    } catch (error) {
      log.warn({ image: name, error }, 'an image could not be made');
      const problem = (error instanceof Error ? error.message : String(error)).trim();
      const shown = problem.slice(-PROBLEM_LENGTH);
      this.#set(name, { state: 'failed', step: null, percent: null, problem: shown });
    }
  }

  #set(name: string, progress: Progress): void {
    this.#builds.set(name, progress);
    this.onChange();
  }

  #progressOf(name: string, reference: string): Progress {
    const build = this.#builds.get(name);
    const isThere = this.#present?.has(reference) === true;
    // Made by the command after it failed here.
    if (build !== undefined && !(build.state === 'failed' && isThere)) return build;
    const known = isThere ? 'ready' : 'missing';
    const state = this.#present === null ? 'unknown' : known;
    return { state, step: null, percent: null, problem: null };
  }
}

function building(step: string, percent: number): Progress {
  return { state: 'building', step, percent, problem: null };
}

async function listReferences(socketPath: string): Promise<ReadonlySet<string>> {
  const filters = encodeURIComponent(JSON.stringify({ reference: ['portcullis/*:latest'] }));
  const asked = request({
    socketPath,
    path: `/images/json?filters=${filters}`,
    signal: AbortSignal.timeout(LIST_MS),
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`Docker answers ${answer.statusCode}`);
  const images = JSON.parse(body) as readonly { readonly RepoTags?: readonly string[] | null }[];
  const tags = images.flatMap(({ RepoTags: names }) => names ?? []);
  return new Set(tags.map((tag) => tag.replace(/:latest$/, '')));
}
