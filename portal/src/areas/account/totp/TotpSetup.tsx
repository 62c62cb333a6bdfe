import { Modal, TextInput } from '@mantine/core';
import type { TotpSetup as Setup } from '@portcullis/client/index.ts';
import { useMemo } from 'react';
import { encode } from 'uqr';
import { CopyIcon } from '../../../components/CopyIcon.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';

const text = messages.account.totp;

interface Props {
  readonly setup: Setup['data'];
  onClose(): void;
  /** It is on; these are shown once. */
  onCodes(codes: readonly string[]): void;
}

/** The QR code, then the first code of the app. */
export function TotpSetup({ setup, onClose, onCodes }: Props) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.setUp}
      size="lg"
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <div className="totp">
        <QrCode text={setup.uri} />
        <WriteForm
          initial={{ code: '' }}
          submit={text.turnOn}
          refusal={({ code }) => !/^\d{6}$/.test(code.trim())}
          write={({ code }) => personClient.confirmTotp({ body: { code: code.trim() } })}
          onDone={({ data }) => {
            onClose();
            onCodes(data.recovery_codes);
          }}
          onCancel={onClose}
        >
          {({ getInputProps }) => (
            <>
              <div>{text.scan}</div>
              <div className="secret">
                <output className="mono" aria-label={text.secret}>
                  {setup.secret.replaceAll(/.{4}(?=.)/g, '$& ')}
                </output>
                <CopyIcon value={setup.secret} label={text.copySecret} />
              </div>
              <TextInput
                data-autofocus
                label={text.code}
                description={text.codeHint}
                inputMode="numeric"
                autoComplete="one-time-code"
                maxLength={6}
                required
                {...getInputProps('code')}
              />
            </>
          )}
        </WriteForm>
      </div>
    </Modal>
  );
}

const QUIET_ZONE = 4;

/** Black on white in both themes, because not every camera reads the inverse. */
function QrCode({ text: encoded }: { readonly text: string }) {
  const { size, data } = useMemo(
    () => encode(encoded, { ecc: 'M', border: QUIET_ZONE }),
    [encoded],
  );
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={text.qr}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
