import { closeDescriptor, type Descriptor } from '../../kernel/bpf/bpf.ts';
import { type BpfArtifact, relocated } from '../../kernel/bpf/bpf-artifact.ts';
import {
  loadProgram,
  loadProgramOffThread,
  type ProgramImage,
} from '../../kernel/bpf/bpf-program.ts';

/** The programs of early-drop.bpf.c. Each refers to the maps that it was loaded with. */
export interface Programs {
  readonly earlyDrop: Descriptor;
  readonly rememberFlow: Descriptor;
}

type Maps = Readonly<Record<string, Descriptor>>;

/** Throws `SystemError` or `ProgramRefused`, and then loads nothing. */
export function loadPrograms(artifact: BpfArtifact, maps: Maps): Programs {
  const earlyDrop = loadProgram('pcl_early_drop', imageOf(artifact, 'xdp', maps));
  try {
    const rememberFlow = loadProgram('pcl_remember', imageOf(artifact, 'tcx/egress', maps));
    return { earlyDrop, rememberFlow };
  } catch (error) {
    closeDescriptor(earlyDrop);
    throw error;
  }
}

/** Loads on other threads: the verifier takes about 200 ms. */
export async function loadProgramsOffThread(artifact: BpfArtifact, maps: Maps): Promise<Programs> {
  const [earlyDrop, rememberFlow] = await Promise.allSettled([
    loadProgramOffThread('pcl_early_drop', imageOf(artifact, 'xdp', maps)),
    loadProgramOffThread('pcl_remember', imageOf(artifact, 'tcx/egress', maps)),
  ]);
  if (earlyDrop.status === 'fulfilled' && rememberFlow.status === 'fulfilled') {
    return { earlyDrop: earlyDrop.value, rememberFlow: rememberFlow.value };
  }
  for (const one of [earlyDrop, rememberFlow])
    if (one.status === 'fulfilled') closeDescriptor(one.value);
  throw earlyDrop.status === 'rejected'
    ? earlyDrop.reason
    : (rememberFlow as PromiseRejectedResult).reason;
}

export function closePrograms({ earlyDrop, rememberFlow }: Programs): void {
  closeDescriptor(earlyDrop);
  closeDescriptor(rememberFlow);
}

function imageOf(artifact: BpfArtifact, section: string, maps: Maps): ProgramImage {
  const program = artifact.programs[section];
  if (program === undefined) throw new Error(`the artifact has no program ${section}`);
  const instructions = relocated(program, maps);
  return { type: program.type, instructions, license: artifact.license };
}
