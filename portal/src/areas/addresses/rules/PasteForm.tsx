import { Button, Textarea } from '@mantine/core';
import type { RuleInput } from '@portcullis/client/index.ts';
import { type SubmitEvent, useDeferredValue, useMemo, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { messages } from '../../../messages/index.ts';
import { parsePastedRules } from './paste-rules.ts';

const text = messages.paste;
const MAX_SHOWN = 5;

interface Props {
  /** Null: for a group. */
  readonly ip: string | null;
  readonly error: Error | null;
  readonly isPending: boolean;
  onSubmit(rules: readonly RuleInput[]): void;
  onClose(): void;
}

/** Many rules at once, a line each; nothing is sent while a line is wrong. */
export function PasteForm({ ip, error, isPending, onSubmit, onClose }: Props) {
  const [pasted, setPasted] = useState('');
  const deferred = useDeferredValue(pasted);
  const lines = useMemo(() => parsePastedRules(deferred, ip), [deferred, ip]);
  const wrong = lines.filter(({ rule }) => rule === null);
  const rules = lines.flatMap(({ rule }) => rule ?? []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (wrong.length === 0 && rules.length > 0) onSubmit(rules);
  };
  return (
    <form className="stack" onSubmit={submit} aria-label={text.title}>
      <Textarea
        label={text.label}
        description={text.hint}
        placeholder={text.example}
        autosize
        minRows={5}
        maxRows={16}
        spellCheck={false}
        value={pasted}
        onChange={(event) => setPasted(event.currentTarget.value)}
        classNames={{ input: 'mono' }}
        autoFocus
      />
      {wrong.length > 0 && (
        <Notice kind="warn">
          {wrong.slice(0, MAX_SHOWN).map(({ line, reason }) => (
            <p key={line}>{text.wrong(line, reason ?? '')}</p>
          ))}
          {wrong.length > MAX_SHOWN && <p>{text.more(wrong.length - MAX_SHOWN)}</p>}
        </Notice>
      )}
      {error !== null && <Notice kind="bad">{error.message}</Notice>}
      <div className="row">
        <Button type="submit" loading={isPending} disabled={wrong.length > 0 || rules.length === 0}>
          {text.submit(rules.length)}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}
