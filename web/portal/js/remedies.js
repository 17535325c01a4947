// Finds the cause, in a few words, and the remedy for the error text of a failed attempt. The remedies are those of
// web/docs/errores.md, word for word (a test compares them).

/** @typedef {{cause: string, remedy: string, ours?: boolean, operator?: boolean, active?: string}} Remedy `cause` is a phrase that a screen may put after a colon; `ours` is true if the receiver has nothing to correct, `operator` if only the operator can act; `active` is the remedy while the webhook is active */

/** @type {[RegExp, (found: RegExpExecArray) => Remedy][]} */
const KNOWN = [
  // The last two are texts of earlier releases, which attempts keep.
  [/^No se encontró ninguna dirección pública|^No se pudo resolver el nombre|no corresponde a una dirección pública/, () => ({ cause: "el DNS no da ninguna dirección pública del receptor", remedy: "Compruebe que la URL está bien escrita y que el DNS público da de ese nombre una dirección accesible desde Internet, no una de su red interna." })],
  [/usa un puerto que no se admite/, () => ({ cause: "el puerto de la URL no se admite", remedy: "Cambie la URL por otra con un puerto de HTTPS." })],
  [/^No se pudo conectar/, () => ({ cause: "no se puede conectar con el receptor", remedy: "Compruebe que el servidor está en marcha y que el cortafuegos deja entrar desde Internet en el puerto de la URL." })],
  [/^No se completó la conexión/, () => ({ cause: "el receptor no acepta la conexión a tiempo", remedy: "Suele ser un cortafuegos que descarta en silencio: abra el puerto de la URL a las direcciones del servicio." })],
  [/certificado TLS del receptor ha caducado/, () => ({ cause: "el certificado caducó o aún no vale", remedy: "Renueve el certificado del receptor y recargue su servidor. Si es nuevo, compruebe la fecha desde la que vale." })],
  [/certificado TLS del receptor no es de confianza/, () => ({ cause: "el certificado no es de confianza", remedy: "Instale uno de una autoridad reconocida, con la cadena completa (los certificados intermedios también)." })],
  [/clave o una firma demasiado débil/, () => ({ cause: "el certificado es demasiado débil", remedy: "Pida otro con RSA de 2048 bits o más, o curva elíptica, y SHA-256 o superior." })],
  [/no está emitido para servidores/, () => ({ cause: "el certificado no es de servidor", remedy: "Pida un certificado de servidor (uso «serverAuth»)." })],
  [/exige un certificado de cliente/, () => ({ cause: "el receptor pide un certificado de cliente", remedy: "No lo exija en esta URL: verifique la firma de cada aviso." })],
  [/no corresponde al nombre de la URL/, () => ({ cause: "el certificado es de otro nombre", remedy: "El certificado debe incluir el nombre de la URL; o use en la URL el nombre del certificado." })],
  [/^No se pudo establecer TLS/, () => ({ cause: "el puerto no habla HTTPS", remedy: "El puerto de la URL debe servir HTTPS con TLS 1.2 o posterior." })],
  [/^El receptor no terminó de responder/, () => ({ cause: "el receptor tarda demasiado en responder", remedy: "Guarde el aviso, responda 200 y procéselo después." })],
  [/^El receptor cerró la conexión/, () => ({ cause: "el receptor cierra la conexión sin responder", remedy: "Busque en el registro de su servidor un fallo a la hora del intento." })],
  [/cabeceras demasiado largas/, () => ({ cause: "la respuesta del receptor tiene cabeceras demasiado largas", remedy: "Revise qué cabeceras añade su servidor: basta con un 200 o un 204." })],
  [/no es HTTP\/1\.1 válido/, () => ({ cause: "la respuesta del receptor no es HTTP", remedy: "Compruebe que en el puerto de la URL responde un servidor web." })],
  [/^El receptor respondió 410/, () => ({ cause: "el receptor respondió 410 (ya no existe)", remedy: "Con un 410 el receptor pide que no se le envíe más. Corrija su servidor o la URL, y reactive el webhook." })],
  [/^El receptor respondió (3\d\d) \(redirección\)/, ([, status]) => ({ cause: `el receptor redirige a otra dirección (${status})`, remedy: "Las redirecciones no se siguen: registre la URL definitiva." })],
  [/^El receptor respondió (401|403)/, ([, status]) => ({ cause: `el receptor rechaza el aviso (${status})`, remedy: "Suele rechazar la firma: compruebe que su secreto es el del webhook. Si exige iniciar sesión, la URL debe aceptar el aviso sin ello." })],
  [/^El receptor respondió 404/, () => ({ cause: "en esa dirección no hay nada (404)", remedy: "Compruebe la ruta de la URL: el servidor responde, pero no la conoce." })],
  [/^El receptor respondió 405/, () => ({ cause: "el receptor no admite POST (405)", remedy: "La URL debe aceptar el método POST." })],
  [/^El receptor respondió 413/, () => ({ cause: "el receptor dice que el aviso es demasiado grande (413)", remedy: "Suba el tamaño máximo de cuerpo que admite su servidor: 128 KiB bastan." })],
  [/^El receptor respondió 415/, () => ({ cause: "el receptor no admite el formato (415)", remedy: "La URL debe aceptar Content-Type: application/json." })],
  [/^El receptor respondió 429/, () => ({ cause: "el receptor pide ir más despacio (429)", remedy: "Se espera lo que indica su Retry-After. Si ocurre a menudo, suba el límite de su servidor para el servicio." })],
  [/^El receptor respondió 503/, () => ({ cause: "el receptor no está disponible (503)", remedy: "Es un error de su servidor: búsquelo en su registro a la hora del intento." })],
  [/^El receptor respondió (5\d\d)/, ([, status]) => ({ cause: `el receptor tiene un error interno (${status})`, remedy: "Es un error de su servidor: búsquelo en su registro a la hora del intento." })],
  [/^El receptor respondió (\d{3})/, ([, status]) => ({ cause: `el receptor respondió ${status}`, remedy: "Compruebe qué hace su servidor en esa URL: se espera un 2xx." })],
  [/^El servicio no (tiene conexión|puede resolver)/, () => ({ cause: "el servicio está sin conexión", remedy: "No hay nada que corregir en su receptor: se enviará en cuanto se restablezca.", ours: true })],
  [/^El secreto del webhook no se puede leer/, () => ({ cause: "el servicio no puede leer el secreto", remedy: "Lo tiene que resolver el operador; mientras, lo que haya se retiene.", ours: true, operator: true })],
  [/^Los datos de la prueba no se pueden leer/, () => ({ cause: "el servicio no puede leer los datos de la prueba", remedy: "Lo tiene que resolver el operador. Puede lanzar otra prueba.", ours: true, operator: true })],
  [/ha estado retenida demasiado tiempo/, () => ({ cause: "estuvo retenida demasiado tiempo", remedy: "Reactive el webhook y reenvíela.", active: "Reenvíela." })],
  [/^La notificación ha sido anulada/, () => ({ cause: "la notificación se anuló antes de entregarse", remedy: "No haga nada: quien la escribió, o el operador, la ha retirado." })],
  [/^La notificación ha caducado/, () => ({ cause: "la notificación caducó antes de entregarse", remedy: "Pasó el plazo fijado por el sistema de evaluación para enviarla, y ya no se envía. Si hubo intentos, corrija lo que los hizo fallar." })],
  [/^La notificación es de otra entidad/, () => ({ cause: "la notificación era de otra entidad", remedy: "No hay nada que corregir en su receptor: se escribió mal en el sistema de evaluación, y se canceló. Avise al operador.", ours: true, operator: true })],
];

/** @param {string} error `ultimoError` of a webhook or a delivery, or `error` of an attempt @returns {Remedy | null} null if nothing failed */
export function remedyOf(error) {
  if (!error) return null;
  for (const [pattern, make] of KNOWN) {
    const found = pattern.exec(error);
    if (found) return make(found);
  }
  return { cause: error, remedy: "Revise su receptor con ese mensaje." };
}

/** The cause alone; "" without an error. */
export const causeOf = (error) => remedyOf(error)?.cause ?? "";
