import { Button, SegmentedControl, TagsInput } from '@mantine/core';
import { type SubmitEvent, useMemo, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { splitTargets, suggestTargets } from '../targets.ts';
import { useAddresses } from '../queries.ts';
import { CountryPicker } from './CountryPicker.tsx';
import { findGeoMistake, type GeoDraft, inputOfGeo } from './geo-draft.ts';
import { useSaveGeoRule } from './queries.ts';

const text = messages.geo;
const MAX_SUGGESTED = 30;

interface Props {
  /** Null: a new rule. */
  readonly id: number | null;
  readonly initial: GeoDraft;
  onClose(): void;
}

export function GeoEditor({ id, initial, onClose }: Props) {
  const [draft, setDraft] = useState(initial);
  const save = useSaveGeoRule();
  const held = useAddresses();
  const suggested = useMemo(
    () => (held.data === undefined ? [] : suggestTargets(held.data)),
    [held.data],
  );
  const change = (part: Partial<GeoDraft>): void => setDraft({ ...draft, ...part });
  const mistake = findGeoMistake(draft);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (mistake === null) save.mutate({ id, body: inputOfGeo(draft) }, { onSuccess: onClose });
  };
  return (
    <form className="stack" onSubmit={submit} aria-label={text.editTitle}>
      <div className="row">
        <SegmentedControl
          aria-label={text.action}
          value={draft.action}
          onChange={(action) => change({ action })}
          data={[
            { value: 'deny', label: text.actions.deny },
            { value: 'only', label: text.actions.only },
          ]}
        />
        <span className="dim">{text.what[draft.action]}</span>
      </div>
      <CountryPicker
        chosen={draft.countries}
        action={draft.action}
        onChange={(countries) => change({ countries })}
      />
      <div className="form-row">
        <TagsInput
          className="field"
          size="sm"
          label={text.asns}
          placeholder={text.asnsPlaceholder}
          splitChars={[',', ' ', '\n', ';']}
          acceptValueOnBlur
          value={[...draft.asns]}
          onChange={(asns) => change({ asns: splitTargets(asns) })}
        />
        <TagsInput
          className="field"
          size="sm"
          label={text.targets}
          data={suggested}
          limit={MAX_SUGGESTED}
          splitChars={[',', ' ', '\n', ';']}
          acceptValueOnBlur
          value={[...draft.targets]}
          onChange={(targets) => change({ targets: splitTargets(targets) })}
        />
      </div>
      <ProblemNotice error={save.error} />
      <div className="row">
        <Button type="submit" loading={save.isPending} disabled={mistake !== null}>
          {id === null ? text.create : text.save}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
        {mistake !== null && <span className="dim">{mistake}</span>}
      </div>
    </form>
  );
}
