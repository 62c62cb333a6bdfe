import { TagsInput } from '@mantine/core';
import { useMemo } from 'react';
import { messages } from '../../messages/index.ts';
import { useAddresses } from '../addresses/queries.ts';
import { splitTargets, suggestTargets } from '../addresses/targets.ts';
import type { WrongTarget } from './group-draft.ts';

const text = messages.group;
const MAX_SUGGESTED = 30;

interface Props {
  readonly targets: readonly string[];
  readonly wrong: WrongTarget | null;
  readonly isLocked: boolean;
  onChange(targets: readonly string[]): void;
}

/** Where a group stands: what is held is suggested, several can be pasted. */
export function TargetsSection({ targets, wrong, isLocked, onChange }: Props) {
  const held = useAddresses();
  const suggested = useMemo(
    () => (held.data === undefined ? [] : suggestTargets(held.data)),
    [held.data],
  );
  return (
    <section className="card card-pad">
      <h2>{text.targets}</h2>
      <p>{text.targetsLead}</p>
      <TagsInput
        size="sm"
        aria-label={text.targetsLabel}
        placeholder={isLocked ? '' : text.targetsPlaceholder}
        data={suggested}
        limit={MAX_SUGGESTED}
        splitChars={[',', ' ', '\n', ';']}
        value={[...targets]}
        onChange={(tags) => onChange(splitTargets(tags))}
        readOnly={isLocked}
        acceptValueOnBlur
        error={wrong !== null}
      />
      <div className="hint bad" role="status">
        {wrong !== null && text.notATarget(wrong.typed, wrong.reason)}
      </div>
    </section>
  );
}
