import { Button, Modal } from '@mantine/core';
import type { AcceptedRule, RuleNote } from '@portcullis/client/index.ts';
import { StickyNote } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { Pill } from '../../../components/Pill.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { messages } from '../../../messages/index.ts';
import { describeRule } from '../rules/rule-columns.tsx';
import { NoteFields } from './NoteFields.tsx';
import { useSaveNote } from './queries.ts';

const text = messages.notes;
const EMPTY: RuleNote = { note: null, tags: [] };

interface Props {
  readonly rule: AcceptedRule;
  readonly note: RuleNote | undefined;
  readonly known: readonly string[];
}

/** The tags and the note of a rule, and the button that edits them. */
export function NoteCell({ rule, note = EMPTY, known }: Props) {
  const [isOpen, setOpen] = useState(false);
  const isEmpty = note.note === null && note.tags.length === 0;
  return (
    <span className="note" title={note.note ?? undefined}>
      {rule.managed_by_group === null && rule.status !== 'going' && (
        <RoleIcon
          needs="member"
          isForPeople
          label={(isEmpty ? text.add : text.edit)(describeRule(rule))}
          onClick={() => setOpen(true)}
        >
          <StickyNote size={15} />
        </RoleIcon>
      )}
      {note.tags.map((tag) => (
        <Pill key={tag} tone="info" plain>
          {tag}
        </Pill>
      ))}
      <span className="dim">{note.note}</span>
      {isOpen && (
        <NoteEditor rule={rule} note={note} known={known} onClose={() => setOpen(false)} />
      )}
    </span>
  );
}

interface EditorProps {
  readonly rule: AcceptedRule;
  readonly note: RuleNote;
  readonly known: readonly string[];
  onClose(): void;
}

function NoteEditor({ rule, note, known, onClose }: EditorProps) {
  const [value, setValue] = useState(note);
  const save = useSaveNote(rule.destination_ip, rule.id);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate({ ...value, note: value.note || null }, { onSuccess: onClose });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.title}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <form className="stack" onSubmit={submit}>
        <span className="dim">{describeRule(rule)}</span>
        <NoteFields value={value} known={known} onChange={setValue} />
        <ProblemNotice error={save.error} />
        <div className="row">
          <div className="row-end">
            <Button variant="default" onClick={onClose}>
              {messages.cancel}
            </Button>
            <Button type="submit" loading={save.isPending}>
              {text.save}
            </Button>
          </div>
        </div>
      </form>
    </Modal>
  );
}
