import { SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { SearchField } from '../../components/list/SearchField.tsx';
import { localOf } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { type AttackSearch, isBackwards, parseTerms, WINDOWS } from './attack-search.ts';

const text = messages.attacks;
const TYPING_MS = 350;
const WINDOW_CHOICES = WINDOWS.map((value) => ({ value, label: text.windows[value] }));

interface Props {
  readonly search: AttackSearch;
  onChange(search: AttackSearch): void;
}

/** The filters of the interface. What is typed is asked for when it is understood, and typing has paused. */
export function SearchTools({ search, onChange }: Props) {
  const [typed, setTyped] = useState(search.q ?? '');
  const parsed = parseTerms(typed);
  useEffect(() => {
    const q = typed.trim();
    if (q === (search.q ?? '') || !parseTerms(q).ok) return undefined;
    const timer = setTimeout(() => onChange({ ...search, q }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, search, onChange]);
  return (
    <div className="stack">
      <div className="tools">
        <SearchField label={text.search} value={typed} onChange={setTyped} />
        <SegmentedControl
          aria-label={text.window}
          data={WINDOW_CHOICES}
          value={search.window ?? 'day'}
          onChange={(window) => onChange({ ...search, window })}
        />
        <Switch
          label={text.ongoingOnly}
          checked={search.ongoing === true}
          onChange={(event) => {
            const { ongoing: _, ...rest } = search;
            onChange(event.currentTarget.checked ? { ...rest, ongoing: true } : rest);
          }}
        />
      </div>
      {search.window === 'custom' && (
        <div className="form-row">
          <Moment
            label={text.from}
            value={search.from}
            onChange={(from) => onChange({ ...search, ...from })}
            name="from"
          />
          <Moment
            label={text.to}
            value={search.to}
            onChange={(to) => onChange({ ...search, ...to })}
            name="to"
            error={isBackwards(search) ? text.backwards : null}
          />
        </div>
      )}
      {!parsed.ok && (
        <div className="hint bad" role="status">
          {parsed.reason}
        </div>
      )}
    </div>
  );
}

interface MomentProps {
  readonly label: string;
  readonly name: 'from' | 'to';
  readonly value: string | undefined;
  readonly error?: string | null;
  onChange(change: Pick<AttackSearch, 'from' | 'to'>): void;
}

/** A moment in the viewer's zone. */
function Moment({ label, name, value, error = null, onChange }: MomentProps) {
  return (
    <TextInput
      className="field"
      type="datetime-local"
      label={label}
      description={name === 'to' ? text.now : undefined}
      error={error}
      defaultValue={value === undefined ? '' : localOf(value)}
      onChange={(event) => {
        const chosen = new Date(event.currentTarget.value);
        onChange({ [name]: isNaN(chosen.getTime()) ? undefined : chosen.toISOString() });
      }}
    />
  );
}
