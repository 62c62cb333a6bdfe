import { closeDescriptor, type Descriptor } from '../../kernel/bpf/bpf.ts';
import { type BpfArtifact, relocated } from '../../kernel/bpf/bpf-artifact.ts';
import {
  loadProgram,
  loadProgramOffThread,
  type ProgramImage,
} from '../../kernel/bpf/bpf-program.ts';

/** The programs of early-drop.bpf.c. Each refers to the maps that it was loaded with. */
const PROGRAMS = {
  native: { name: 'pcl_early_drop', section: 'xdp' },
  tc: { name: 'pcl_early_tc', section: 'tcx/ingress' },
  egress: { name: 'pcl_remember', section: 'tcx/egress' },
} as const;
export type ProgramName = keyof typeof PROGRAMS;

type Maps = Readonly<Record<string, Descriptor>>;

/** Loads each program once, at the latest when it is used: few hosts need all, and the verifier takes 200 to 400 ms. */
export class Programs {
  readonly #artifact: BpfArtifact;
  readonly #maps: Maps;
  readonly #loaded = new Map<ProgramName, Descriptor>();

  constructor(artifact: BpfArtifact, maps: Maps) {
    this.#artifact = artifact;
    this.#maps = maps;
  }

  /** Loads it if it is not loaded. Throws `SystemError` or `ProgramRefused`. */
  get(program: ProgramName): Descriptor {
    const loaded =
      this.#loaded.get(program) ?? loadProgram(PROGRAMS[program].name, this.#imageOf(program));
    this.#loaded.set(program, loaded);
    return loaded;
  }

  /** Loads on other threads. */
  async prepare(programs: readonly ProgramName[]): Promise<void> {
    const loading = programs.map(async (program) => {
      const { name } = PROGRAMS[program];
      this.#loaded.set(program, await loadProgramOffThread(name, this.#imageOf(program)));
    });
    const [failed] = (await Promise.allSettled(loading)).filter(
      (one): one is PromiseRejectedResult => one.status === 'rejected',
    );
    if (failed !== undefined) throw failed.reason;
  }

  close(): void {
    for (const program of this.#loaded.values()) closeDescriptor(program);
    this.#loaded.clear();
  }

  #imageOf(program: ProgramName): ProgramImage {
    const { section } = PROGRAMS[program];
    const found = this.#artifact.programs[section];
    if (found === undefined) throw new Error(`the artifact has no program ${section}`);
    const instructions = relocated(found, this.#maps);
    return { type: found.type, instructions, license: this.#artifact.license };
  }
}
