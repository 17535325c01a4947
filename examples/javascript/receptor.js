// Receptor de avisos de apientidades, con la biblioteca oficial de Standard Webhooks.
//
//   npm ci
//   RECEPTOR_CERT=cadena.pem RECEPTOR_CLAVE=clave.pem RECEPTOR_SECRETO='whsec_…' node receptor.js

const fs = require("node:fs");
const https = require("node:https");
const { Webhook } = require("standardwebhooks");

const MAXIMO = 1_000_000; // bytes del cuerpo: ningún aviso llega a tanto
const RECORDADOS = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

// Una variable en blanco, o con solo «whsec_», cuenta como si faltara: con una clave vacía podría firmar cualquiera.
function variable(nombre) {
  const valor = process.env[nombre] ?? "";
  return ["", "whsec_"].includes(valor.trim()) ? "" : valor;
}

function obligatoria(nombre) {
  const valor = variable(nombre);
  if (valor) return valor;
  console.error(`${nombre} falta o está incompleta: póngala como dicen las primeras líneas de receptor.js`);
  process.exit(1);
}

// La biblioteca descodifica el base64 de un secreto whsec_…; en otro caso, la clave son los bytes del secreto.
const verificador = (secreto) =>
  secreto.startsWith("whsec_") ? new Webhook(secreto) : new Webhook(Buffer.from(secreto), { format: "raw" });

// Mientras se cambia el secreto valen los dos: el nuevo y el anterior.
const secretos = [obligatoria("RECEPTOR_SECRETO"), variable("RECEPTOR_SECRETO_ANTERIOR")];
const verificadores = secretos.filter(Boolean).map(verificador);
const vistos = new Set();

// Comprueba la firma de los bytes tal como llegaron, y que `webhook-timestamp` no difiera en más de 5 minutos de la
// hora de este equipo.
function esAutentico(cuerpo, cabeceras) {
  return verificadores.some((webhook) => {
    try {
      webhook.verify(cuerpo, cabeceras, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  });
}

// Guarda el aviso solo la primera vez que llega. En su programa: un INSERT en su base de datos, con `webhook-id` como
// clave única, para no procesar dos veces una repetición ni perder avisos en un corte de luz.
function guardar(identificador, cuerpo) {
  if (vistos.has(identificador)) return;
  vistos.add(identificador);
  if (vistos.size > RECORDADOS) vistos.delete(vistos.values().next().value);
  setImmediate(intentar, identificador, cuerpo);
}

// Se ejecuta cuando ya se ha respondido. Aquí va lo que su programa haga con el aviso.
function procesar(identificador, aviso) {
  console.log("procesado", identificador, aviso.evento, JSON.stringify(aviso.data));
}

// JSON.parse redondea los enteros que pasan de 2^53: aquí se leen como texto, con todas sus cifras.
function leer(cuerpo) {
  const piezas = /"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g; // cadenas y números
  const seRedondea = (pieza) => /^-?\d+$/.test(pieza) && !Number.isSafeInteger(Number(pieza));
  return JSON.parse(cuerpo.toString().replace(piezas, (pieza) => (seRedondea(pieza) ? `"${pieza}"` : pieza)));
}

// Si no se puede leer el JSON de un aviso, o si `procesar` falla, escribe el fallo y sigue con los demás avisos.
// Con `await`, lo hace también cuando `procesar` es una función `async`.
async function intentar(identificador, cuerpo) {
  try {
    const aviso = leer(cuerpo);
    if (!aviso.evento || !aviso.data) throw new Error("no es un aviso: falta `evento` o `data`");
    await procesar(identificador, aviso);
  } catch (error) {
    console.error("no se ha podido procesar", identificador, error);
  }
}

function atender(peticion, respuesta) {
  const trozos = [];
  let longitud = 0;
  peticion.on("data", (trozo) => {
    longitud += trozo.length;
    if (longitud > MAXIMO) peticion.destroy();
    else trozos.push(trozo);
  });
  peticion.on("end", () => {
    const cuerpo = Buffer.concat(trozos);
    if (!esAutentico(cuerpo, peticion.headers)) return respuesta.writeHead(401).end();
    guardar(peticion.headers["webhook-id"], cuerpo);
    respuesta.writeHead(204).end();
  });
}

const tls = { cert: fs.readFileSync(obligatoria("RECEPTOR_CERT")), key: fs.readFileSync(obligatoria("RECEPTOR_CLAVE")) };
// Milisegundos para recibir una petición entera: quien envía poco a poco no ocupa una conexión para siempre.
const plazos = { headersTimeout: 20_000, requestTimeout: 20_000, connectionsCheckingInterval: 5_000 };
const servidor = https.createServer({ ...tls, ...plazos }, atender).listen(process.env.RECEPTOR_PUERTO || 8443, () => {
  console.log("escuchando en el puerto", servidor.address().port);
});
