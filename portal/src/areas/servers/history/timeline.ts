import type { Attack, GameServerHistory } from '@portcullis/client/index.ts';

export type Happening =
  | { readonly kind: 'state' | 'build'; readonly at: string; readonly state: string }
  | { readonly kind: 'crash'; readonly at: string }
  | { readonly kind: 'attack'; readonly at: string; readonly attack: Attack };

/** Shares of the width of the day: 0 to 1. */
export interface Span {
  readonly left: number;
  readonly width: number;
}
export interface StateSpan extends Span {
  /** Null: nobody knows. */
  readonly state: string | null;
}

export interface Timeline {
  readonly states: readonly StateSpan[];
  readonly crashes: readonly number[];
  readonly attacks: readonly Span[];
  /** Newest first. */
  readonly happenings: readonly Happening[];
}

/** Everything that happened to a server and to its address in a day, on one scale. */
export function timelineOf(
  { data, meta }: Pick<GameServerHistory, 'data' | 'meta'>,
  attacks: readonly Attack[],
): Timeline {
  const from = Date.parse(meta.from);
  const length = Math.max(1, Date.parse(meta.to) - from);
  const share = (at: string): number => Math.min(1, Math.max(0, (Date.parse(at) - from) / length));
  const changes = data.events.filter(({ kind }) => kind === 'server.state');
  const crashes = data.events.filter(({ kind }) => kind === 'server.crashed');
  const happenings: Happening[] = [
    ...data.events.flatMap(({ at, kind, state }): Happening[] => {
      if (kind === 'server.crashed') return [{ kind: 'crash', at }];
      if (kind === 'server.state') return [{ kind: 'state', at, state: state ?? '' }];
      return kind === 'server.build' ? [{ kind: 'build', at, state: state ?? '' }] : [];
    }),
    ...attacks.map((attack): Happening => ({ kind: 'attack', at: attack.started_at, attack })),
  ];
  return {
    states: statesOf(changes, share),
    crashes: crashes.map(({ at }) => share(at)),
    attacks: attacks.map(({ started_at: start, ended_at: end }) => ({
      left: share(start),
      width: (end === null ? 1 : share(end)) - share(start),
    })),
    happenings: happenings.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)),
  };
}

interface Change {
  readonly at: string;
  readonly state: string | null;
  readonly from: string | null;
}

/** Before the first change it was what that changed from; without any, nobody knows. */
function statesOf(changes: readonly Change[], share: (at: string) => number): StateSpan[] {
  const first: StateSpan = { left: 0, width: 0, state: changes[0]?.from ?? null };
  const starts = [first, ...changes.map(({ at, state }) => ({ left: share(at), state }))];
  return starts.map(({ left, state }, index) => ({
    left,
    state,
    width: (starts[index + 1]?.left ?? 1) - left,
  }));
}
