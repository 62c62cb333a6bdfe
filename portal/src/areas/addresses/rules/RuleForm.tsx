import { Button, SegmentedControl, Select, TextInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { NotedRule, RuleNote } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { messages } from '../../../messages/index.ts';
import { NoteFields } from '../notes/NoteFields.tsx';
import {
  countRules,
  explainPorts,
  explainSource,
  hasPorts,
  inputOf,
  PROTOCOLS,
  type RuleDraft,
} from './rule-draft.ts';

const text = messages.rules;

interface Props {
  /** Null: for a group. */
  readonly ip: string | null;
  readonly initial: RuleDraft;
  readonly create: Pick<UseMutationResult<unknown, Error, NotedRule>, 'error' | 'isPending'> & {
    mutate(input: NotedRule, options: { onSuccess(): void }): void;
  };
  /** Tags to choose from; null: the rule can have no note. */
  readonly knownTags?: readonly string[] | null;
  onClose(): void;
}

const NO_NOTE: RuleNote = { note: null, tags: [] };

/** Says below each field what was typed means, before anything is sent. */
export function RuleForm({ ip, initial, create, knownTags = null, onClose }: Props) {
  const [note, setNote] = useState(NO_NOTE);
  const [draft, setDraft] = useState(initial);
  const change = (part: Partial<RuleDraft>): void => setDraft({ ...draft, ...part });
  const ports = explainPorts(draft.ports);
  const source = explainSource(draft.source, ip);
  const takesPorts = hasPorts(draft.protocol);
  const isValid = source.isValid && (ports.isValid || !takesPorts);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const noted = knownTags === null ? {} : { ...note, note: note.note || null };
    if (isValid) create.mutate({ ...inputOf(draft), ...noted }, { onSuccess: onClose });
  };
  return (
    <form className="stack" onSubmit={submit} aria-label={text.add}>
      <div className="form-row">
        <div className="field-s">
          <div className="label">{text.action}</div>
          <SegmentedControl
            fullWidth
            aria-label={text.action}
            value={draft.action}
            onChange={(action) => change({ action })}
            data={[
              { value: 'allow', label: text.allow },
              { value: 'deny', label: text.deny },
            ]}
          />
        </div>
        <Select
          className="field-s"
          label={text.protocol}
          value={draft.protocol}
          onChange={(protocol) => change({ protocol: protocol ?? 'tcp' })}
          data={PROTOCOLS.map((value) => ({ value, label: text.protocols[value] }))}
        />
        <div className="field">
          <TextInput
            data-autofocus
            label={text.port}
            placeholder={takesPorts ? '25565, 7000-7010' : text.noPorts}
            value={takesPorts ? draft.ports : ''}
            disabled={!takesPorts}
            onChange={(event) => change({ ports: event.currentTarget.value })}
            aria-describedby="ports-explained"
          />
          <Hint id="ports-explained" explained={takesPorts ? ports : null} />
        </div>
        <div className="field">
          <TextInput
            label={text.source}
            placeholder={text.anywhere}
            value={draft.source}
            onChange={(event) => change({ source: event.currentTarget.value })}
            aria-describedby="source-explained"
          />
          <Hint id="source-explained" explained={source} />
        </div>
      </div>
      {knownTags !== null && <NoteFields value={note} known={knownTags} onChange={setNote} />}
      {create.error !== null && <Notice kind="bad">{create.error.message}</Notice>}
      <div className="row">
        <Button type="submit" loading={create.isPending} disabled={!isValid}>
          {text.submit(countRules(draft))}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}

interface HintProps {
  readonly id: string;
  readonly explained: { readonly isValid: boolean; readonly text: string } | null;
}

function Hint({ id, explained }: HintProps) {
  const kind = explained?.isValid === false ? 'bad' : '';
  return (
    <div id={id} className={`hint ${kind}`} role="status">
      {explained?.text}
    </div>
  );
}
