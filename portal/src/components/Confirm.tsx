import { Button, Modal } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { messages } from '../messages/index.ts';
import { ProblemNotice } from './ProblemNotice.tsx';

interface Props<Result> {
  readonly title: string;
  /** What happens then. */
  readonly children: ReactNode;
  /** The verb: `Revoke`, not `OK`. */
  readonly confirm: string;
  readonly write: UseMutationResult<Result, Error, void>;
  onClose(): void;
}

/** Asks before something that cannot be taken back. Closes when it is done. */
export function Confirm<Result>({ title, children, confirm, write, onClose }: Props<Result>) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <div className="stack">
        <div>{children}</div>
        <ProblemNotice error={write.error} />
        <div className="row">
          <div className="row-end">
            <Button variant="default" onClick={onClose}>
              {messages.cancel}
            </Button>
            <Button
              color="red"
              data-autofocus
              loading={write.isPending}
              onClick={() => write.mutate(undefined, { onSuccess: onClose })}
            >
              {confirm}
            </Button>
          </div>
        </div>
      </div>
    </Modal>
  );
}
