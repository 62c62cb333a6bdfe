import type { AcceptedRule, RuleNote } from '@portcullis/client/index.ts';
import { StickyNote } from 'lucide-react';
import { useState } from 'react';
import { Pill } from '../../../components/Pill.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { messages } from '../../../messages/index.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { describeRule } from '../rules/rule-columns.tsx';
import { MarksShown } from './MarksShown.tsx';
import { NoteFields, noteOf } from './NoteFields.tsx';

const text = messages.notes;
const EMPTY: RuleNote = { note: null, tags: [] };

interface Props {
  readonly rule: AcceptedRule;
  readonly note: RuleNote | undefined;
  readonly known: readonly string[];
}

/** The end, the name, the tags and the note of a rule, and the button that edits these two. */
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
      <MarksShown marks={rule} />
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

interface EditorProps extends Required<Props> {
  readonly note: RuleNote;
  onClose(): void;
}

function NoteEditor({ rule, note, known, onClose }: EditorProps) {
  const client = usePeopleClient();
  return (
    <WriteDialog
      title={text.title}
      initial={{ note: note.note ?? '', tags: note.tags }}
      submit={text.save}
      write={(draft) => client.saveRuleNote({ rule: rule.id, body: noteOf(draft) })}
      say={() => ({
        text: text.saved,
        undo: () => client.saveRuleNote({ rule: rule.id, body: note }),
      })}
      onClose={onClose}
    >
      {(form) => (
        <>
          <span className="dim">{describeRule(rule)}</span>
          <NoteFields form={form} known={known} />
        </>
      )}
    </WriteDialog>
  );
}
