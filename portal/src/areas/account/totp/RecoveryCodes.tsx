import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { messages } from '../../../messages/index.ts';

const text = messages.account.totp;

export function RecoveryCodes({
  codes,
  onClose,
}: {
  readonly codes: readonly string[];
  onClose(): void;
}) {
  return (
    <SecretOnce title={text.codesTitle} secret={codes.join('\n')} onClose={onClose}>
      {text.codesText}
    </SecretOnce>
  );
}
