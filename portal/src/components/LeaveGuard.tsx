import { Button, Modal } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { messages } from '../messages/index.ts';

const text = messages.leave;

interface Props {
  readonly isDirty: boolean;
  /** The text on what would be lost. */
  readonly text: string;
}

/** Asks before what was changed and not saved is lost. */
export function LeaveGuard({ isDirty, text: lost }: Props) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => isDirty,
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  return (
    <Modal
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={text.title}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <div className="stack">
        <p>{lost}</p>
        <div className="row">
          <div className="row-end">
            <Button variant="default" data-autofocus onClick={() => reset?.()}>
              {text.stay}
            </Button>
            <Button color="red" onClick={() => proceed?.()}>
              {text.leave}
            </Button>
          </div>
        </div>
      </div>
    </Modal>
  );
}
