import { Button } from '@mantine/core';
import { operatorMessages } from '../../../messages/operator.ts';

const text = operatorMessages.fleet;

interface Props {
  readonly name: string;
  readonly owner: string;
  onEdit(): void;
}

/** Opens the form of a host; one of the fleet file is changed there. */
export function EditButton({ name, owner, onEdit }: Props) {
  const isOfFile = owner === 'fleet';
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={text.changeOf(name)}
      disabled={isOfFile}
      title={isOfFile ? text.editOfFleet : undefined}
      onClick={onEdit}
    >
      {text.change}
    </Button>
  );
}
