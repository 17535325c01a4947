// Receptor de avisos de apientidades en ASP.NET, sin bibliotecas: comprueba webhook-signature. .NET 8 o posterior.
//
//   RECEPTOR_SECRETO='whsec_…' dotnet run --urls http://localhost:8080
//
// Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).

using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

const int Antiguedad = 300; // segundos
const int Recordados = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

var secreto = Environment.GetEnvironmentVariable("RECEPTOR_SECRETO") ?? "";
if (secreto.Trim() is "" or "whsec_") throw new InvalidOperationException("falta RECEPTOR_SECRETO: con una clave vacía firma cualquiera");
// Los bytes que codifica el base64 de un secreto whsec_…; en otro caso, los del secreto.
var clave = secreto.StartsWith("whsec_", StringComparison.Ordinal)
    ? Convert.FromBase64String(secreto["whsec_".Length..])
    : Encoding.UTF8.GetBytes(secreto);
var vistos = new HashSet<string>();
var orden = new Queue<string>();

var aplicacion = WebApplication.CreateBuilder(args).Build();

aplicacion.MapPost("/avisos", async (HttpRequest peticion) =>
{
    using var memoria = new MemoryStream();
    await peticion.Body.CopyToAsync(memoria);
    var cuerpo = memoria.ToArray(); // los bytes tal como llegaron: se firman esos
    if (!EsAutentico(cuerpo, peticion.Headers)) return Results.Unauthorized();
    var identificador = peticion.Headers["webhook-id"].ToString();
    if (EsNuevo(identificador)) _ = Task.Run(() => Procesar(identificador, cuerpo)); // la respuesta no espera
    return Results.NoContent();
});

aplicacion.Run();

// La firma es de «webhook-id.webhook-timestamp.cuerpo». Mientras se cambia el secreto, la cabecera trae dos.
bool EsAutentico(byte[] cuerpo, IHeaderDictionary cabeceras)
{
    var hora = cabeceras["webhook-timestamp"].ToString();
    if (!long.TryParse(hora, out var segundos) || Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - segundos) > Antiguedad) return false;
    byte[] firmado = [.. Encoding.UTF8.GetBytes($"{cabeceras["webhook-id"]}.{hora}."), .. cuerpo];
    var esperada = Encoding.ASCII.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(clave, firmado)));
    var firmas = cabeceras["webhook-signature"].SelectMany(valor => (valor ?? "").Split(' '));
    return firmas.Any(firma => CryptographicOperations.FixedTimeEquals(esperada, Encoding.UTF8.GetBytes(firma)));
}

// En su programa: un INSERT en su base de datos, con `webhook-id` como clave única.
bool EsNuevo(string identificador)
{
    lock (vistos)
    {
        if (!vistos.Add(identificador)) return false;
        orden.Enqueue(identificador);
        if (orden.Count > Recordados) vistos.Remove(orden.Dequeue());
        return true;
    }
}

// Ponga aquí lo que su programa haga con el aviso.
void Procesar(string identificador, byte[] cuerpo)
{
    try
    {
        using var aviso = JsonDocument.Parse(cuerpo);
        var (evento, data) = (aviso.RootElement.GetProperty("evento"), aviso.RootElement.GetProperty("data"));
        Console.WriteLine($"procesado {identificador} {evento} {data.GetRawText()}");
    }
    catch (Exception fallo)
    {
        Console.Error.WriteLine($"no se ha podido procesar {identificador}: {fallo}");
    }
}
