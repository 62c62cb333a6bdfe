import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { messages } from '../messages/index.ts';
import { CopyIcon } from './CopyIcon.tsx';
import { Notice } from './Notice.tsx';

const text = messages.secret;

interface Props {
  readonly title: string;
  readonly secret: string;
  /** Text on what it is for, and what to do if it is lost. */
  readonly children: ReactNode;
  onClose(): void;
}

/** A secret that is shown this once. Only its button closes it, so that no stray click loses it. */
export function SecretOnce({ title, secret, children, onClose }: Props) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <div className="stack">
        <Notice kind="warn">{text.once}</Notice>
        <div className="secret">
          <output className="mono">{secret}</output>
          <CopyIcon value={secret} label={text.copy} />
        </div>
        <p className="dim flat">{children}</p>
        <div className="row">
          <div className="row-end">
            <Button data-autofocus onClick={onClose}>
              {text.saved}
            </Button>
          </div>
        </div>
      </div>
    </Modal>
  );
}
