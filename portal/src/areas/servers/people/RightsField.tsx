import { Button, Checkbox, Tooltip } from '@mantine/core';
import type { ServerPeople } from '@portcullis/client/index.ts';
import { serverPeopleMessages as text } from '../../../messages/servers/people.ts';

type Right = ServerPeople['data']['rights'][number];

const PRESETS = {
  restart: ['control.console', 'control.restart'],
  files: [
    'file.read',
    'file.read-content',
    'file.create',
    'file.update',
    'file.delete',
    'file.archive',
    'file.sftp',
  ],
  all: null,
} as const satisfies Record<string, readonly string[] | null>;

interface Props {
  readonly rights: readonly Right[];
  readonly chosen: readonly string[];
  onChange(chosen: string[]): void;
}

/** Every right with what it lets do, by group; those that the caller lacks say so and cannot be chosen. */
export function RightsField({ rights, chosen, onChange }: Props) {
  const groups = Map.groupBy(rights, ({ group }) => group);
  const own = rights.filter((right) => right.own).map(({ right }) => right);
  const set = (right: string, isOn: boolean): void =>
    onChange(isOn ? [...chosen, right] : chosen.filter((one) => one !== right));
  return (
    <div className="stack" role="group" aria-label={text.rights}>
      <div className="row" role="group" aria-label={text.presets.title}>
        <span className="dim">{text.presets.title}</span>
        {Object.entries(PRESETS).map(([name, preset]) => (
          <Button
            key={name}
            variant="default"
            size="compact-sm"
            onClick={() =>
              onChange(
                preset === null
                  ? own
                  : own.filter((one) => (preset as readonly string[]).includes(one)),
              )
            }
          >
            {text.presets[name as keyof typeof PRESETS]}
          </Button>
        ))}
      </div>
      {[...groups].map(([group, members]) => (
        <fieldset key={group} className="stack">
          <legend className="strong">{group}</legend>
          {members.map(({ right, description, own: isOwn }) => (
            <Tooltip key={right} label={text.notYours} disabled={isOwn}>
              <Checkbox
                label={description}
                description={right}
                checked={chosen.includes(right)}
                aria-disabled={!isOwn}
                onChange={(event) => isOwn && set(right, event.currentTarget.checked)}
              />
            </Tooltip>
          ))}
        </fieldset>
      ))}
    </div>
  );
}
