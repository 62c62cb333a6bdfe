import { useState } from 'react';
import { RoleButton, type RoleButtonProps } from '../RoleButton.tsx';
import type { AfterWrite } from './use-write.ts';
import type { FormValues } from './WriteForm.tsx';
import { WriteDialog, type WriteDialogProps } from './WriteDialog.tsx';

interface Props<Values, Result>
  extends Omit<RoleButtonProps, 'children' | 'onClick' | 'title'>,
    AfterWrite<Values, Result> {
  readonly children: string;
  /** The title of the question. */
  readonly title: string;
  /** Text on what happens then, or the fields of the question. */
  readonly question: WriteDialogProps<Values, Result>['children'];
  /** The verb; its default is that of the button. */
  readonly confirm?: string;
  readonly initial?: Values;
  write(values: Values): Promise<Result>;
}

/** A button for what cannot be taken back: it asks, then writes. */
export function ConfirmButton<Result, Values extends FormValues = {}>({
  title,
  question,
  confirm,
  initial = {} as Values,
  write,
  removes,
  say,
  onDone,
  ...button
}: Props<Values, Result>) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <RoleButton variant="default" {...button} onClick={() => setAsking(true)} />
      {isAsking && (
        <WriteDialog
          title={title}
          submit={confirm ?? button.children}
          isFinal
          initial={initial}
          write={write}
          {...(removes && { removes })}
          {...(say && { say })}
          {...(onDone && { onDone })}
          onClose={() => setAsking(false)}
        >
          {question}
        </WriteDialog>
      )}
    </>
  );
}
