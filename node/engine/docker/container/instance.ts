import type { Instance } from '../../engine.ts';

/** The used fields of `GET /containers/{id}/json`. */
export interface ContainerJson {
  readonly Id: string;
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly StartedAt: string;
  };
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>> | null;
  };
  readonly HostConfig: {
    readonly PortBindings: Readonly<
      Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>
    > | null;
  };
}

/** Docker's container states as ours. */
const STATUS: Readonly<Record<string, Instance['status']>> = {
  created: 'created',
  running: 'running',
  restarting: 'running',
  paused: 'paused',
  removing: 'exited',
  exited: 'exited',
  dead: 'exited',
};

export function statusOf(state: string): Instance['status'] {
  return STATUS[state] ?? 'exited';
}

export function parseInstance(uuid: string, { State: state }: ContainerJson): Instance {
  const status = statusOf(state.Status);
  // Docker's zero time: the container never started.
  const started = state.StartedAt.startsWith('0001-') ? Number.NaN : Date.parse(state.StartedAt);
  return {
    uuid,
    status,
    exitCode: status === 'exited' ? state.ExitCode : null,
    oomKilled: state.OOMKilled,
    startedAtMs: Number.isNaN(started) ? null : started,
  };
}
