import { Button, Modal } from '@mantine/core';
import { RoleButton } from '../../../../components/RoleButton.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { messages } from '../../../../messages/index.ts';
import type { Clash, Uploads } from '../upload/use-uploads.ts';

const text = filesMessages.clash;
const SHOWN = 8;

interface Props {
  readonly uploads: Uploads;
  readonly clash: Clash;
}

/** Asks what becomes of an upload whose names are there already. */
export function ClashDialog({ uploads, clash: { names } }: Props) {
  return (
    <Modal
      opened
      onClose={() => uploads.decide('cancel')}
      title={text.title(names.length)}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <div className="stack">
        <ul className="conflicts mono">
          {names.slice(0, SHOWN).map((name) => (
            <li key={name}>{name}</li>
          ))}
          {names.length > SHOWN && <li>{text.more(names.length - SHOWN)}</li>}
        </ul>
        <p className="flat dim">{text.text}</p>
        <div className="row">
          <div className="row-end">
            <Button variant="default" onClick={() => uploads.decide('cancel')}>
              {messages.cancel}
            </Button>
            <Button variant="default" data-autofocus onClick={() => uploads.decide('skip')}>
              {text.skip}
            </Button>
            <RoleButton refusal={uploads.replaceRefusal} onClick={() => uploads.decide('replace')}>
              {text.replace}
            </RoleButton>
          </div>
        </div>
      </div>
    </Modal>
  );
}
