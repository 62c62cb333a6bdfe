import type { KeyClient, ServerSettings } from '@portcullis/client/index.ts';

export type Settings = ServerSettings['data'];
export type SettingsPatch = Parameters<KeyClient['changeServerSettings']>[0]['body'];

/** The fields that the form of settings holds. */
export interface SettingsDraft {
  readonly name: string;
  /** The label of an image; null: the first of the game. */
  readonly image: string | null;
  readonly start_with_host: string;
  /** '': as the game says. */
  readonly stop_seconds: number | string;
  readonly crashes: {
    readonly restart: boolean;
    readonly within_seconds: number | string;
    readonly tries: number | string;
  };
  /** Values by environment name. */
  readonly variables: Readonly<Record<string, string>>;
}

export function draftOf(settings: Settings): SettingsDraft {
  const { name, image, start_with_host, stop_seconds, crashes, variables } = settings;
  return {
    name,
    image: image.chosen,
    start_with_host,
    stop_seconds: stop_seconds ?? '',
    crashes: { ...crashes },
    variables: Object.fromEntries(variables.map(({ env, value }) => [env, value])),
  };
}

/** The change from what was read: what differs, and null for what has its default again. */
export function patchOf(settings: Settings, draft: SettingsDraft): SettingsPatch {
  const was = draftOf(settings);
  const patch: Record<string, unknown> = {};
  if (draft.name.trim() !== was.name) patch['name'] = draft.name.trim();
  if (draft.image !== was.image) patch['image'] = draft.image;
  if (draft.start_with_host !== was.start_with_host) {
    patch['start_with_host'] = draft.start_with_host;
  }
  if (draft.stop_seconds !== was.stop_seconds) patch['stop_seconds'] = numberOf(draft.stop_seconds);
  const crashes = changedOf(was.crashes, draft.crashes);
  if (Object.keys(crashes).length > 0) patch['crashes'] = crashes;
  const variables = variablesOf(settings, draft);
  if (Object.keys(variables).length > 0) patch['variables'] = variables;
  return patch;
}

/** The number of settings that a change names. */
export function countChanges({ crashes = {}, variables = {}, ...others }: SettingsPatch): number {
  return [crashes, variables, others].flatMap((part) => Object.keys(part)).length;
}

function changedOf(was: SettingsDraft['crashes'], is: SettingsDraft['crashes']): object {
  const names = Object.keys(was) as (keyof SettingsDraft['crashes'])[];
  const changed = names.filter((name) => is[name] !== was[name]);
  return Object.fromEntries(
    changed.map((name) => [name, name === 'restart' ? is[name] : numberOf(is[name])]),
  );
}

function variablesOf({ variables }: Settings, draft: SettingsDraft): Record<string, string | null> {
  return Object.fromEntries(
    variables.flatMap(({ env, value, default: standard }) => {
      const typed = draft.variables[env] ?? value;
      if (typed === value) return [];
      return [[env, typed === standard ? null : typed] as const];
    }),
  );
}

function numberOf(value: number | string | boolean): number | null {
  return value === '' ? null : Number(value);
}
