import { Button, SegmentedControl } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ProblemNotice } from '../../../../components/forms/ProblemNotice.tsx';
import { Notice } from '../../../../components/Notice.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { withoutReturns } from './line-endings.ts';
import { createMergeEditor, type MergeEditor } from './merge-editor.ts';
import type { Conflict, Stored } from './save-file.ts';

const text = filesMessages.conflict;
const SIDES = ['merge', 'theirs', 'mine'] as const;
type Side = (typeof SIDES)[number];

interface Props {
  readonly name: string;
  /** The content that the viewer's text was made from. */
  readonly base: Stored;
  readonly conflict: Conflict;
  readonly error: Error | null;
  readonly isSaving: boolean;
  onSave(merged: string): void;
  onTakeTheirs(): void;
}

/** The file as it is, the file as it was read, and the viewer's text, two of them at a time; nothing is saved before that was seen. */
export function ConflictView(props: Props) {
  const { name, base, conflict, error, isSaving, onSave, onTakeTheirs } = props;
  const [side, setSide] = useState<Side>('merge');
  const [mine, setMine] = useState(conflict.mine);
  const merge = useRef<MergeEditor>(null);
  const isGone = conflict.theirs.text === null;
  /** Keeps what was merged so far, when another side is shown. */
  const leave = (): string => {
    const merged = side === 'merge' ? (merge.current?.text() ?? mine) : mine;
    setMine(merged);
    return merged;
  };
  const read = withoutReturns(base.text ?? '');
  const theirs = withoutReturns(conflict.theirs.text ?? '');
  const [before, after] = { merge: [theirs, mine], theirs: [read, theirs], mine: [read, mine] }[
    side
  ] as [string, string];
  return (
    <>
      <div className="panel stack">
        <Notice kind="warn">{isGone ? text.gone(name) : text.changed(name)}</Notice>
        <ProblemNotice error={error} />
        <div className="row">
          <SegmentedControl
            aria-label={text.sides}
            value={side}
            onChange={(next) => {
              leave();
              setSide(next);
            }}
            data={SIDES.map((value) => ({ value, label: text.side[value] }))}
          />
          <div className="row-end">
            <Button variant="default" onClick={onTakeTheirs}>
              {isGone ? text.discard : text.takeTheirs}
            </Button>
            <Button loading={isSaving} onClick={() => onSave(leave())}>
              {text.save}
            </Button>
          </div>
        </div>
        <p className="flat dim">{text.explained[side]}</p>
      </div>
      <Merge key={side} {...{ name, side, before, after, merge }} onSave={() => onSave(leave())} />
    </>
  );
}

interface MergeProps {
  readonly name: string;
  readonly side: Side;
  readonly before: string;
  readonly after: string;
  readonly merge: { current: MergeEditor | null };
  onSave(): void;
}

function Merge({ name, side, before, after, merge, onSave }: MergeProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(onSave);
  useEffect(() => {
    latest.current = onSave;
  });
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createMergeEditor(host.current, {
      before,
      after,
      name,
      labels: text.labels[side],
      ...(side === 'merge' && { onSave: () => latest.current() }),
    });
    merge.current = made;
    return () => {
      merge.current = null;
      made.dispose();
    };
    // Another side is another component; a text that changes here is the editor's own.
  }, [name, side, merge]);
  return <div className="code" ref={host} />;
}
