import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { messages } from '../messages/index.ts';

const UNDO_MS = 10_000;

/** Offers for ten seconds to take back what was just done. */
export function showUndo(done: string, undo: () => Promise<unknown>): void {
  const id = notifications.show({
    autoClose: UNDO_MS,
    withBorder: true,
    closeButtonProps: { 'aria-label': messages.close },
    message: (
      <div className="undo">
        <span>{done}</span>
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            notifications.hide(id);
            undo().catch((error: Error) =>
              notifications.show({
                color: 'red',
                title: messages.undo.failed,
                message: error.message,
                closeButtonProps: { 'aria-label': messages.close },
              }),
            );
          }}
        >
          {messages.undo.button}
        </Button>
      </div>
    ),
  });
}
