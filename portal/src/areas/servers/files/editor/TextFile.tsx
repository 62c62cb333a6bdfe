import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { ProblemNotice } from '../../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../../components/forms/use-write.ts';
import { LeaveGuard } from '../../../../components/LeaveGuard.tsx';
import { Pill } from '../../../../components/Pill.tsx';
import { RoleButton } from '../../../../components/RoleButton.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { refusalOf } from '../actions.ts';
import { nameOf } from '../paths.ts';
import { type CodeEditor, createCodeEditor, type EditorMark } from './code-editor.ts';
import { ConflictView } from './ConflictView.tsx';
import { FileFrame, type FrameProps } from './FileFrame.tsx';
import { lineEndingOf, withLineEnding, withoutReturns } from './line-endings.ts';
import { type Conflict, saveFile, type Stored } from './save-file.ts';

const text = filesMessages.editor;

interface Props {
  readonly frame: FrameProps;
  readonly rights: readonly string[];
  readonly line: number | null;
  readonly stored: Stored;
}

interface Attempt {
  /** Its lines end with `\n`. */
  readonly text: string;
  readonly over: Stored;
  /** The state of the editor that it is; null where it comes of a conflict. */
  readonly mark: EditorMark | null;
}

/** A file to edit. It is saved only over what was read; what others changed meanwhile is shown first. */
export function TextFile({ frame, rights, line, stored }: Props) {
  const { path } = frame;
  const refusal = refusalOf('save', rights);
  const file = useTextFile(frame, stored);
  const { conflict, write, isDirty, editor } = file;
  const isSaved = write.data?.kind === 'saved';
  const save = (): void => {
    if (refusal === null) file.save();
  };
  if (conflict !== null) {
    return (
      <FileFrame {...frame}>
        <ConflictView
          name={nameOf(path)}
          base={file.base}
          conflict={conflict}
          error={write.error}
          isSaving={write.isPending}
          onSave={file.saveMerged}
          onTakeTheirs={file.takeTheirs}
        />
        <LeaveGuard isDirty text={text.leave} />
      </FileFrame>
    );
  }
  return (
    <FileFrame
      {...frame}
      actions={
        <>
          {isDirty ? (
            <Pill tone="warn">{text.unsaved}</Pill>
          ) : (
            isSaved && <Pill tone="ok">{text.saved}</Pill>
          )}
          <RoleButton
            refusal={refusal ?? (isDirty ? null : text.unchanged)}
            loading={write.isPending}
            onClick={save}
          >
            {text.save}
          </RoleButton>
        </>
      }
    >
      <ProblemNotice error={write.error} />
      <Editor
        {...{ path, line, editor }}
        start={file.start}
        isReadOnly={refusal !== null}
        onChange={file.setDirty}
        onSave={save}
      />
      <div className="grid-foot" role="status">
        {refusal ?? (isSaved && !isDirty ? text.savedHint : text.keys)}
      </div>
      <LeaveGuard isDirty={isDirty} text={text.leave} />
    </FileFrame>
  );
}

/** The states of a file that is edited: what was read, whether it is changed, a conflict. */
function useTextFile({ uuid: slice, path }: FrameProps, stored: Stored) {
  const { client } = useSession();
  const editor = useRef<CodeEditor>(null);
  /** The file as it was read or saved last. */
  const [base, setBase] = useState(stored);
  /** The text of a new editor. */
  const [start, setStart] = useState(() => withoutReturns(stored.text ?? ''));
  const [isDirty, setDirty] = useState(false);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  /** Goes on with a text that lies there like this. */
  const resume = (next: string): void => {
    setStart(next);
    setDirty(false);
    setConflict(null);
  };
  const write = useWrite(
    ({ text: mine, over }: Attempt) => {
      const ending = lineEndingOf(over.text ?? base.text ?? '');
      return saveFile(client, { slice, path, text: withLineEnding(mine, ending), over });
    },
    {
      onDone(saved, { text: mine, mark }) {
        if (saved.kind === 'conflict') {
          setConflict({ mine: editor.current?.text() ?? mine, theirs: saved.theirs });
          return;
        }
        setBase(saved.now);
        if (mark !== null) editor.current?.setSaved(mark);
        else resume(mine);
      },
    },
  );
  return {
    editor,
    base,
    start,
    isDirty,
    setDirty,
    conflict,
    write,
    save(): void {
      const mark = editor.current?.mark();
      if (mark !== undefined && !write.isPending)
        write.mutate({ text: mark.text, over: base, mark });
    },
    saveMerged(merged: string): void {
      if (conflict !== null) write.mutate({ text: merged, over: conflict.theirs, mark: null });
    },
    takeTheirs(): void {
      if (conflict === null) return;
      setBase(conflict.theirs);
      resume(withoutReturns(conflict.theirs.text ?? ''));
    },
  };
}

interface EditorProps {
  readonly path: string;
  readonly line: number | null;
  readonly start: string;
  readonly isReadOnly: boolean;
  readonly editor: { current: CodeEditor | null };
  onChange(isChanged: boolean): void;
  onSave(): void;
}

function Editor({ path, line, start, isReadOnly, editor, onChange, onSave }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const changed = useEffectEvent(onChange);
  const save = useEffectEvent(onSave);
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createCodeEditor(host.current, {
      text: start,
      name: nameOf(path),
      label: text.label(nameOf(path)),
      isReadOnly,
      line,
      onChange: (isChanged) => changed(isChanged),
      onSave: () => save(),
    });
    editor.current = made;
    return () => {
      editor.current = null;
      made.dispose();
    };
  }, [path, line, start, isReadOnly, editor]);
  return <div className="code" ref={host} />;
}
