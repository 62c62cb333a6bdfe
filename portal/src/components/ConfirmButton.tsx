import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Confirm } from './Confirm.tsx';
import { RoleButton, type RoleButtonProps } from './RoleButton.tsx';

interface Props extends Omit<RoleButtonProps, 'onClick'> {
  /** Of the question. */
  readonly title: string;
  /** What happens then. */
  readonly text: ReactNode;
  /** The verb; its default is that of the button. */
  readonly confirm?: string;
  write(): Promise<unknown>;
  onDone?(): void;
}

/** A button for what cannot be taken back: it asks, then writes. */
export function ConfirmButton({ title, text, confirm, write, onDone, ...button }: Props) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <RoleButton variant="default" {...button} onClick={() => setAsking(true)} />
      {isAsking && (
        <Asking
          title={title}
          text={text}
          confirm={confirm ?? String(button.children)}
          write={write}
          onDone={onDone}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

type AskingProps = Pick<Props, 'title' | 'text' | 'write'> & {
  readonly confirm: string;
  readonly onDone: Props['onDone'];
  onClose(): void;
};

/** Its error goes with it. */
function Asking({ title, text, confirm, write, onDone, onClose }: AskingProps) {
  const mutation = useMutation({ mutationFn: write, onSuccess: () => onDone?.() });
  return (
    <Confirm title={title} confirm={confirm} write={mutation} onClose={onClose}>
      {text}
    </Confirm>
  );
}
